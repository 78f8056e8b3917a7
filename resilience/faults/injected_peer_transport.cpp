#include "resilience/faults/injected_peer_transport.hpp"

#include <utility>

#include "kernels/error.hpp"
#include "resilience/faults/injected_peer_connection.hpp"

namespace tenax::resilience {

using comm::Connection;
using comm::Peer;
using kernels::Deadline;

std::unique_ptr<Connection> InjectedPeerTransport::connect(const Peer& peer, const std::string& address,
                                                           const std::string& purpose, Deadline deadline) {
  wait_for_light(peer, purpose, deadline);
  return ForwardingTransport::connect(peer, address, purpose, deadline);
}

std::unique_ptr<Connection> InjectedPeerTransport::accept(const Peer& peer, const std::string& purpose,
                                                          Deadline deadline) {
  wait_for_light(peer, purpose, deadline);
  return ForwardingTransport::accept(peer, purpose, deadline);
}

bool InjectedPeerTransport::spares(const Peer& peer) const {
  return peer.replica < 0 || !faults_.concern(peer.replica);
}

void InjectedPeerTransport::wait_for_light(const Peer& peer, const std::string& purpose,
                                           Deadline deadline) const {
  if (!spares(peer) && !faults_.waits_for_light(peer.replica, deadline))
    throw kernels::Error(kernels::Scope::link, "no connection with " + peer.name + " for \"" + purpose +
                                                   "\" before the deadline (injected: see [[inject]])");
}

std::unique_ptr<Connection> InjectedPeerTransport::wrap(std::unique_ptr<Connection> connection,
                                                        const Peer& peer, const std::string&) {
  if (spares(peer)) return connection;
  return std::make_unique<InjectedPeerConnection>(std::move(connection), peer.replica, faults_);
}

}  // namespace tenax::resilience
