// Who is at the two ends of a delegated link, and what both sides' threads work with.
#pragma once

#include <string>

#include "comm/connection.hpp"

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

}  // namespace tenax::comm
