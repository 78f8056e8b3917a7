// RingConnections: the connections of a rank to its neighbours in the ring of one epoch.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "comm/connection.hpp"

namespace tenax::comm {

/// The purposes of its connections (Transport::connect) begin with this. Epoch, rank and number
/// follow: a connection of another epoch is never taken for one of this.
inline constexpr std::string_view kFtarPurpose = "ftar.";

/// The ranks of equal number in the replicas of an epoch. Each sends to the next one.
struct FtarRing {
  std::int64_t epoch = 0;
  int rank = 0;             ///< in each replica
  int index = 0;            ///< this replica's, of `peers`
  std::vector<Peer> peers;  ///< by replica, in ring order

  int size() const { return static_cast<int>(peers.size()); }
  int before() const { return (index + size() - 1) % size(); }
  int after() const { return (index + 1) % size(); }
};

struct RingConnections {
  std::vector<std::unique_ptr<Connection>> before, after;
};

/// Connects to the rank after, then accepts the rank before: all ranks may do so at once, as peers'
/// transports answer in threads of their own. Returns within a second after `is_over` is
/// set (ConnectionAttempt). Throws FtarError where a peer cannot be reached until `reach`, and when
/// the deadline comes or `is_over` is set.
RingConnections connect_ring(const FtarRing& ring, Transport& transport, int connections,
                             const std::atomic<bool>& is_over, kernels::Deadline reach,
                             kernels::Deadline deadline);

}  // namespace tenax::comm
