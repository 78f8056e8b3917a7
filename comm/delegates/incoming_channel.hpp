// IncomingChannel: one receiving delegate: a thread that fetches the messages of the peer's
// delegate of the same number as soon as they come.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "comm/buffers/shared_buffer_pool.hpp"
#include "comm/delegates/channel_observer.hpp"
#include "comm/delegates/reconnector.hpp"
#include "comm/inbox/inbox.hpp"

namespace tenax::comm {

/// Thread rule: any thread; but one at a time sends on connection().
class IncomingChannel {
 public:
  /// All references must outlive the channel. `shared_buffers`: the inbox's. `offers`: the
  /// inbox's host buffers are registered, and offered to the peer (Connection::offer).
  IncomingChannel(const LinkParties& parties, int index, Inbox& inbox, SharedBufferPool& shared_buffers,
                  bool offers, ChannelObserver& observer);
  ~IncomingChannel() { end(); }
  IncomingChannel(const IncomingChannel&) = delete;
  IncomingChannel& operator=(const IncomingChannel&) = delete;

  /// Messages that the inbox has been given: the count that the peer is told.
  std::uint64_t arrived() const { return arrived_; }
  /// Waits until arrived() counts every message whose receive is done, which happens a moment
  /// before.
  void settle(kernels::Deadline deadline);
  /// Carries acknowledgements back to the peer's delegate; null while there is none.
  std::shared_ptr<Connection> connection() const;
  /// Receives nothing more; does not wait for the thread.
  void stop() noexcept { reconnector_.close(); }
  /// stop(), and waits.
  void end() noexcept;

 private:
  void run();
  void read(Connection& connection);
  void take(Connection& connection, const MessageHeader& header);
  void deliver(Connection& connection, const MessageHeader& header);
  void read_payload(Connection& connection, std::span<std::byte> memory) const;
  void await(Connection& connection, const MessageHeader& header, std::size_t bytes);
  void set_delivering(bool is_delivering);
  void set_connection(std::shared_ptr<Connection> connection);

  const LinkParties& parties_;
  Inbox& inbox_;
  SharedBufferPool& shared_buffers_;
  const bool offers_;
  ChannelObserver& observer_;
  Reconnector reconnector_;
  std::atomic<std::uint64_t> arrived_{0};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Connection> connection_;
  bool is_delivering_ = false;
  std::thread thread_;
};

}  // namespace tenax::comm
