// The verbs handshake: how two processes that have proven to be of one job agree on a pair of ports
// and make a connection over it.
#pragma once

#include <memory>
#include <vector>

#include "comm/transport/proven_messages.hpp"
#include "comm/verbs/verbs_connection.hpp"

namespace tenax::comm::verbs {

/// What an end brings along. It outlives the handshake.
struct HandshakeEnd {
  const std::vector<Port>& ports;  ///< usable ones, in order of preference
  /// This end's, for what comes in.
  RingSize ring;
  PathSettings settings;
  std::shared_ptr<MemoryTable> memory;
  std::shared_ptr<PathBook> book;
  Identity peer;  ///< the other end
  std::string purpose;
  std::shared_ptr<Worker> reaper;  ///< VerbsConnection's
};

/// The connecting end's part; the messages' deadline is for all of it. The connection has carried a
/// test message each way; it still needs its socket (VerbsConnection::attach). Throws Error(link)
/// with the reason of either end.
std::unique_ptr<VerbsConnection> connect_over(ProvenMessages& messages, const HandshakeEnd& end,
                                              const std::string& address);
/// The accepting end's, which chooses the ports. `turn`: port_pairs'.
std::unique_ptr<VerbsConnection> accept_over(ProvenMessages& messages, const HandshakeEnd& end,
                                             const std::string& address, std::size_t turn);

}  // namespace tenax::comm::verbs
