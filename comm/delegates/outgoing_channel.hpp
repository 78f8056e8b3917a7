// OutgoingChannel: one sending delegate: a thread with a queue and a connection of its own. A
// second thread reads the peer's acknowledgements, and makes the connection again when it breaks.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "comm/delegates/channel_observer.hpp"
#include "comm/delegates/reconnector.hpp"

namespace tenax::comm {

/// Emulated time: the wire that one end's delegates of a link share, whose messages go one by one.
///
/// Thread rule: any thread.
class EmulatedWire {
 public:
  /// 0: as much as there is at once.
  explicit EmulatedWire(double gbps) : gbps_(gbps) {}
  bool is_finite() const { return gbps_ > 0; }
  struct Turn {
    double begin_s, end_s;
  };
  /// For a message that could go at `ready_s`. The wire must be finite.
  Turn take(double ready_s, std::uint64_t bytes);

 private:
  const double gbps_;
  std::mutex mutex_;
  double free_s_ = 0;
};

/// Thread rule: any thread.
class OutgoingChannel {
 public:
  /// References must outlive the channel.
  OutgoingChannel(const LinkParties& parties, int index, EmulatedWire& wire, ChannelObserver& observer);
  ~OutgoingChannel() { end(); }
  OutgoingChannel(const OutgoingChannel&) = delete;
  OutgoingChannel& operator=(const OutgoingChannel&) = delete;

  void add(OutgoingPtr message);
  /// The peer has the first `arrived` messages of this channel. Throws Error(link) if fewer were
  /// sent.
  void acknowledge(std::uint64_t arrived);
  /// There is a connection, which can send from such memory of the device (Connection::can_read).
  bool can_read(std::span<const std::byte> memory);
  /// Sends nothing more; does not wait for the threads.
  void stop() noexcept;
  /// stop(), and waits.
  void end() noexcept;

 private:
  void run_sender();
  bool transmit(Connection& connection, OutgoingMessage& message);
  void cross_wire(MessageHeader& header) const;
  void stamp(const OutgoingMessage& message, MessageHeader& header) const;
  bool transmit_payload(Connection& connection, OutgoingMessage& message, const MessageHeader& header);
  void fail(const Failure& failure);
  void run_reader();
  static void check(const Connection& connection, const MessageHeader& header);
  void read(Connection& connection);
  double until_silent_s();
  void lose(const std::shared_ptr<Connection>& connection);

  const LinkParties& parties_;
  EmulatedWire& wire_;
  ChannelObserver& observer_;
  Reconnector reconnector_;
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::deque<OutgoingPtr> messages_;  // not acknowledged yet, by sequence: of one iteration at most
  std::size_t next_ = 0;              // which of them goes next
  std::uint64_t sequences_ = 0;
  std::uint64_t begun_ = 0;                 // messages that a connection was given, in part at least
  std::uint64_t arrived_ = 0;               // as the peer has acknowledged
  std::shared_ptr<Connection> connection_;  // null while it is being made
  bool is_stopped_ = false;
  double last_left_s_ = 0;  // the sender's own
  std::thread sender_, reader_;
};

}  // namespace tenax::comm
