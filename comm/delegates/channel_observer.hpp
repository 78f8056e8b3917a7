// What the threads of a delegated link share: who is at its ends, its kinds of messages, and what
// they tell the link.
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
  acknowledgement,  ///< payload: messages that have arrived, per channel, 64 bits each
  farewell          ///< the same, and the last: the sender closes the link
};

/// Called from the channels' threads, without locks held.
class ChannelObserver {
 public:
  virtual ~ChannelObserver() = default;
  /// The peer has received so many messages of each outgoing channel. Throws Error(link) where it
  /// cannot have.
  virtual void on_acknowledged(std::span<const std::uint64_t> arrived_of_channel) = 0;
  /// The peer has closed the link, and will send no more.
  virtual void on_farewell() = 0;
  /// A message was acknowledged, and its memory is not read any more.
  virtual void on_delivered(const OutgoingPtr& message) = 0;
  /// The connection cannot read the message's memory (Copier::bring_to_host).
  virtual void on_host_needed(OutgoingMessage& message) = 0;
  /// Incoming channels have messages to acknowledge, or a new connection on which to do so again.
  virtual void on_arrival() = 0;
  /// A processor has copied so many bytes of a message into a connection, or out of one.
  virtual void on_copied(std::uint64_t bytes) = 0;
  /// The link cannot go on.
  virtual void on_failure(const Failure& failure) = 0;
};

}  // namespace tenax::comm
