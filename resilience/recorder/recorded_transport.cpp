#include "resilience/recorder/recorded_transport.hpp"

#include "comm/emulated/direct_endpoint.hpp"
#include "comm/ftar/ring_connector.hpp"
#include "resilience/recorder/recorded_connection.hpp"

namespace tenax::resilience {

using comm::Connection;
using comm::Peer;

// Those of training; others come and go with what is fetched or tested.
std::unique_ptr<Connection> RecordedTransport::wrap(std::unique_ptr<Connection> connection, const Peer& peer,
                                                    const std::string& purpose) {
  const bool trains = purpose.starts_with(comm::kDirectPurpose) || purpose.starts_with("delegated") ||
                      purpose.starts_with(comm::kFtarPurpose);
  if (!trains) return connection;
  return std::make_unique<RecordedConnection>(std::move(connection), recorder_,
                                              add_direction(purpose, peer, true),
                                              add_direction(purpose, peer, false));
}

int RecordedTransport::add_direction(const std::string& purpose, const Peer& peer, bool is_outgoing) const {
  const Recorder::Seat& seat = recorder_.seat();
  const bool is_near = peer.replica < 0;
  const auto name_of_end = [&](int replica, int rank) {
    return is_near ? std::to_string(rank) : std::to_string(replica) + "." + std::to_string(rank);
  };
  const std::string own = name_of_end(seat.replica, seat.rank), other = name_of_end(peer.replica, peer.rank);
  return recorder_.add_channel((is_near ? "" : "replicas' ") + purpose + " " + (is_outgoing ? own : other) +
                                   ">" + (is_outgoing ? other : own),
                               ChannelKind::connection, is_outgoing ? 0 : 1, 2);
}

}  // namespace tenax::resilience
