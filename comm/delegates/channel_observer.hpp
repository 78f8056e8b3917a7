// What the threads of a delegated link share: who is at its ends, its kinds of messages, and what they tell the link.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "comm/connection.hpp"
#include "comm/delegates/outgoing_message.hpp"
#include "comm/failure.hpp"

namespace tenax::comm {

struct LinkParties {
  std::string name;
  Peer me, peer;
  Transport& transport;
  double deadline_s;

  bool connects() const { return me.rank < peer.rank; }
  std::string describe() const { return me.name + " - " + peer.name; }
};

/// MessageHeader::kind of a delegated link.
enum class MessageKind : std::int32_t {
  data = 1,
  acknowledgement,  ///< payload: per channel how many of its messages have arrived, as 64-bit numbers
  farewell          ///< the same, and the last: the sender has received what it wanted and leaves
};

/// Called from the channels' threads, without locks held.
class ChannelObserver {
 public:
  virtual ~ChannelObserver() = default;
  /// The peer has received, of each of our outgoing channels, that many messages. Throws Error(link) where it cannot have.
  virtual void on_acknowledged(std::span<const std::uint64_t> arrived_of_channel) = 0;
  /// The peer has left, and will send no more.
  virtual void on_farewell() = 0;
  /// A message was acknowledged, and its memory is not read any more.
  virtual void on_delivered(const OutgoingPtr& message) = 0;
  /// Incoming channels have news to acknowledge, or a new connection, over which it must be said again.
  virtual void on_arrival() = 0;
  /// A transmission took `sending_s` after `queueing_s`, and the connection `payload_bytes`.
  virtual void on_sent(double queueing_s, double sending_s, std::uint64_t payload_bytes) = 0;
  /// The link cannot go on.
  virtual void on_failure(const Failure& failure) = 0;
};

}  // namespace tenax::comm
