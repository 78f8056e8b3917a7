// The transports there are, and how ranks learn each other's addresses.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/connection.hpp"
#include "comm/control_group.hpp"
#include "comm/transport/job_secret.hpp"

namespace tenax::comm {

class Identity;
class Listener;
class PendingConnections;

/// automatic: shared memory within a host; between hosts verbs, where a listener of them is given, else
/// TCP.
enum class TransportKind { automatic, tcp, shared_memory, verbs };

struct TransportOptions {
  TransportKind kind = TransportKind::automatic;
  std::vector<std::string>
      interfaces;  ///< network interfaces (names or addresses) to listen on; none = all that are up
  double deadline_s = 60;
  JobSecret secret;  ///< the same in all processes that are to reach each other, and nowhere else
  /// comm/verbs stands above this folder, and is not in every build: whoever has it gives its listener.
  std::function<std::unique_ptr<Listener>(const TransportOptions&, Identity me, PendingConnections&)>
      create_verbs_listener = {};
};

/// Listens from now on; threads accept. Shared memory (rings with futexes) reaches peers on this host
/// only; automatic offers the addresses of both kinds, shared memory first. Throws Error(rank) when
/// no address can be listened on.
std::unique_ptr<Transport> create_transport(const TransportOptions& options);

/// Collective over `control`: every rank's Peer, by the group's rank (addresses of another host's
/// shared memory left out). `host`: this rank's; `world_rank`: its number for people.
std::vector<Peer> exchange_peers(comm::ControlGroup& control, const Transport& transport, int world_rank,
                                 const std::string& host);

}  // namespace tenax::comm
