#include "resilience/faults/injected_transport.hpp"

#include "comm/emulated/direct_endpoint.hpp"
#include "kernels/error.hpp"

namespace tenax::resilience {

using comm::Connection;
using comm::Peer;
using kernels::Deadline;
using kernels::Error;
using kernels::Scope;

namespace {

bool is_direct(const std::string& purpose) { return purpose.starts_with(comm::kDirectPurpose); }

}  // namespace

std::unique_ptr<Connection> InjectedTransport::connect(const Peer& peer, const std::string& address,
                                                       const std::string& purpose, Deadline deadline) {
  if (spares(peer, purpose)) return inner().connect(peer, address, purpose, deadline);
  throw_if_down(peer, {is_direct(purpose), address}, purpose);
  return inject(inner().connect(peer, address, purpose, deadline), peer, purpose);
}

std::unique_ptr<Connection> InjectedTransport::accept(const Peer& peer, const std::string& purpose,
                                                      Deadline deadline) {
  if (spares(peer, purpose)) return inner().accept(peer, purpose, deadline);
  for (;;) {
    throw_if_down(peer, {.direct = is_direct(purpose)}, purpose);
    auto connection = inject(inner().accept(peer, purpose, deadline), peer, purpose);
    if (!connection->is_cut()) return connection;
  }
}

/// Faults are of links within a replica.
bool InjectedTransport::spares(const Peer& peer, const std::string& purpose) const {
  return peer.replica >= 0 || !faults_.concern(rank_, peer.rank) ||
         purpose.starts_with(comm::kChannelControlPurpose);
}

void InjectedTransport::throw_if_down(const Peer& peer, LinkFaults::Way way,
                                      const std::string& purpose) const {
  if (!faults_.is_down(rank_, peer.rank, way)) return;
  const std::string where = way.address.empty() ? "" : " at " + std::string(way.address);
  throw Error(Scope::link, "no connection to " + peer.name + where + " for \"" + purpose +
                               "\": the path is down (injected: see [[inject]])");
}

std::unique_ptr<InjectedConnection> InjectedTransport::inject(std::unique_ptr<Connection> connection,
                                                              const Peer& peer,
                                                              const std::string& purpose) const {
  const ConnectionUse use{.rank = rank_, .peer = peer.rank, .direct = is_direct(purpose)};
  return std::make_unique<InjectedConnection>(std::move(connection), use, faults_, registry_);
}

}  // namespace tenax::resilience
