// FtarStream: FtarMessages and chunks over one connection, without blocking.
#pragma once

#include <poll.h>

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "comm/connection.hpp"
#include "comm/ftar/ftar_message.hpp"
#include "comm/polled_stream.hpp"
#include "kernels/device.hpp"

namespace tenax::comm {

/// Thread rule: one thread. What receives throws Error(link) once the connection is broken.
class FtarStream {
 public:
  /// Throws Error(link) for a connection that is no stream.
  explicit FtarStream(std::unique_ptr<Connection> connection);

  /// What is to be sent.
  struct Outgoing {
    FtarMessage message;
    std::span<const std::byte> payload;       ///< must not change until it is written
    std::unique_ptr<kernels::Buffer> packed;  ///< that holds the payload, if it is not the bucket
    double not_before_s = 0;                  ///< steady clock
  };
  void post(Outgoing outgoing);
  void post(const FtarMessage& message) { post({message, {}, nullptr}); }
  /// Writes what there is room for; true if anything moved. Once the other end takes nothing more,
  /// all is dropped: receive() says why.
  bool flush();
  /// Messages that wait to be written.
  std::size_t queued() const { return queue_.size(); }
  /// Writes what is queued and this as the last message, as far as there is room now; then shuts the
  /// connection down at both ends.
  void end_with(const FtarMessage& message);
  /// A buffer of a message that has been written; null: allocate one.
  std::unique_ptr<kernels::Buffer> spare_buffer();

  /// The next message, once it is there.
  std::optional<FtarMessage> receive();
  /// After a message with a payload: some of it; 0: nothing is there now.
  std::size_t receive_payload(std::span<std::byte> memory) { return stream_.read_some(memory); }

  /// To be polled before the thread sleeps; nothing: there is something to do now.
  std::optional<pollfd> prepare_to_sleep();
  /// When the next message may leave, where that is later.
  std::optional<double> waits_until_s() const;

  PolledStream& bytes() { return stream_; }
  Connection& connection() { return *connection_; }

 private:
  bool may_write() const;

  std::unique_ptr<Connection> connection_;
  PolledStream& stream_;
  std::deque<Outgoing> queue_;
  std::size_t written_ = 0;  // of the first in the queue, its message included
  bool is_deaf_ = false;     // the other end takes nothing more
  std::vector<std::unique_ptr<kernels::Buffer>> spare_;
  FtarMessage incoming_;  // of which incoming_bytes_ are here
  std::size_t incoming_bytes_ = 0;
};

}  // namespace tenax::comm
