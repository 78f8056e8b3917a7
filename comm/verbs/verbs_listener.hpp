// The sockets of connections over RDMA.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "comm/transport/listener.hpp"
#include "comm/verbs/path_book.hpp"
#include "comm/verbs/port.hpp"
#include "comm/verbs/queue_pair.hpp"

namespace tenax::comm::verbs {

/// Equal on all ranks of a job, but for ports and turns.
struct VerbsOptions {
  /// This host's usable ports, in order of preference; asked for each connection, on any thread.
  std::function<std::vector<Port>()> ports = {};
  /// turn_of's, without their devices: also those that cannot be used now. None: all are equally near.
  std::vector<Port> wanted = {};
  std::size_t ring_bytes = std::size_t{1} << 20;  ///< whole pages, 64 KiB … 64 MiB; for each direction
  PathSettings path = {};
  bool gpu_direct = true;               ///< device memory is registered where that can be
  std::size_t first_turn = 0;           ///< turn_of's `first`: ranks of a host begin with different ports
  std::shared_ptr<PathBook> book = {};  ///< that is told of changes of ports; null: they never change
};

/// Listens for handshakes by TCP, on the interfaces of `options`; a connection then goes over RDMA.
/// Addresses are "verbs:HOST:PORT#IDENTITY". A handshake has 2 s, its peer's host a tenth of
/// the time there is to answer at all, and those that peers begin come one
/// after the other. Connections whose purposes end in consecutive numbers ("links/0.3") prefer
/// different ports. `pending` must outlive the listener. Its registered memory is that of all its
/// connections.
std::unique_ptr<Listener> create_verbs_listener(const VerbsOptions& verbs, const TransportOptions& options,
                                                Identity me, PendingConnections& pending);

}  // namespace tenax::comm::verbs
