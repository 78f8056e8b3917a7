// FtarStream: FtarMessages and chunks over one connection, without blocking.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "comm/connection.hpp"
#include "comm/ftar/ftar_message.hpp"
#include "comm/polled_stream.hpp"
#include "kernels/deadline.hpp"
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
  /// A sign of life, as soon as no other message is under way: it waits behind none.
  void post_alive() { wants_alive_ = !is_deaf_; }
  /// When something came last, steady clock.
  double heard_s() const { return heard_s_; }
  /// Whether anything came.
  bool has_heard() const { return has_heard_; }
  /// This rank did not listen for so long.
  void forgive(double pause_s) { heard_s_ += pause_s; }
  /// Writes what there is room for; true if anything but signs of life moved. Once the other end takes nothing more,
  /// all is dropped: receive() says why.
  bool flush();
  /// Messages that wait to be written.
  std::size_t queued() const { return queue_.size(); }
  /// Writes what is queued and this as the last message, as far as there is room now; then shuts the
  /// connection down at both ends. Payloads are read no more.
  void end_with(const FtarMessage& message);
  /// A buffer of a message that has been written; null: allocate one.
  std::unique_ptr<kernels::Buffer> spare_buffer();

  /// The next message, once it is there.
  std::optional<FtarMessage> receive();
  /// After a message with a payload: some of it; 0: nothing is there now.
  std::size_t receive_payload(std::span<std::byte> memory) { return read(memory); }

  /// The same, where it lies; none where it can only be received. It has been used by take_payload().
  std::span<const std::byte> peek_payload() { return stream_.peek(); }
  void take_payload(std::size_t bytes);

  /// Adds what is to be polled before the thread sleeps. False: there is something to do now.
  bool prepare_to_sleep(std::vector<pollfd>& polled) {
    return stream_.prepare_to_sleep(is_alive_due() || may_write(), polled);
  }
  /// When the next message may leave, where that is later.
  std::optional<double> waits_until_s() const;

  PolledStream& bytes() { return stream_; }
  Connection& connection() { return *connection_; }

 private:
  bool may_write() const;
  bool is_alive_due() const { return alive_written_ > 0 || (wants_alive_ && written_ == 0); }
  bool write_alive();
  std::size_t read(std::span<std::byte> memory);
  void note_heard();

  std::unique_ptr<Connection> connection_;
  PolledStream& stream_;
  std::deque<Outgoing> queue_;
  std::size_t written_ = 0;  // of the first in the queue, its message included
  bool is_deaf_ = false;     // the other end takes nothing more
  bool wants_alive_ = false;
  std::size_t alive_written_ = 0;  // of a sign of life
  double heard_s_ = kernels::steady_now_s();
  bool has_heard_ = false;
  std::vector<std::unique_ptr<kernels::Buffer>> spare_;
  FtarMessage incoming_;  // of which incoming_bytes_ are here
  std::size_t incoming_bytes_ = 0;
};

}  // namespace tenax::comm
