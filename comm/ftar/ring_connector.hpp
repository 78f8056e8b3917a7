// RingConnector: how a rank and its neighbours in the ring of replicas are connected, at first and again.
#pragma once

#include <atomic>
#include <cstdint>
#include <future>
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

/// Connections to the rank after are made, those of the rank before accepted: all ranks may do so at
/// once, as peers' transports answer in threads of their own. Each attempt has a thread of its own, which
/// throws FtarError when the deadline comes or `is_over` is set. Thread rule: any thread.
class RingConnector {
 public:
  using Attempt = std::future<std::unique_ptr<Connection>>;

  /// All must outlive it. Attempts end within 1.5 s after `is_over` is set (ConnectionAttempt).
  RingConnector(const FtarRing& ring, Transport& transport, const std::atomic<bool>& is_over)
      : ring_(ring), transport_(transport), is_over_(is_over) {}

  /// The connection of that number with the rank after. A peer that refuses is given up at once. RDMA gets its time:
  /// the connection keeps its way for the whole epoch.
  Attempt connect_after(int number, kernels::Deadline deadline) const;
  /// In place of one that has lost its way: a peer that refuses may be finding out about its ways, and is asked again.
  /// What works at once is taken, before the neighbours give each other up.
  Attempt reconnect_after(int number, kernels::Deadline deadline) const;
  /// Whether a connection with the rank after that is silent may be made again by another way. RDMA notices itself
  /// where nothing is acknowledged, and within a host there is no path that could fail.
  bool has_other_way(const Connection& connection) const;
  /// The connection of that number that the rank before makes.
  Attempt accept_before(int number, kernels::Deadline deadline) const;

 private:
  std::unique_ptr<Connection> make(int number, kernels::Deadline deadline, double rdma_s) const;
  std::unique_ptr<Connection> make_again(int number, kernels::Deadline deadline) const;
  std::unique_ptr<Connection> accept(int number, kernels::Deadline deadline) const;
  std::string purpose(int number) const;

  const FtarRing& ring_;
  Transport& transport_;
  const std::atomic<bool>& is_over_;
};

}  // namespace tenax::comm
