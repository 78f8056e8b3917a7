// ReplicaFaultInjector: what a deck's [[inject]] entries do to replicas: to their processes, to the
// links between them, and to those with the membership service.
//
// It listens to what a rank comes to in a step, and wraps the transport and the link to the service.
// The heartbeats within a replica are left alone: an MPI job lives and dies as a whole.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <variant>
#include <vector>

#include "comm/connection.hpp"
#include "comm/messages/message_client.hpp"
#include "resilience/faults/peer_faults.hpp"
#include "resilience/faults/process_faults.hpp"

namespace tenax::resilience {

/// A fault as a deck asks for it.
struct ReplicaFaultRequest {
  static constexpr int kLauncher = -1;
  struct Process {
    int replica = 0;
    int rank = 0;  ///< in the replica; kLauncher: what started its rank 0, which is mpirun
    StepPoint point = StepPoint::passes;
    bool stops = false;  ///< SIGSTOP, and SIGCONT after stop_s (0: never); else SIGKILL
    double stop_s = 0;
  };
  struct Dark {
    int replica = 0, peer = 0;  ///< peer: another replica, or PeerFaults::kService
    double seconds = 0;
  };
  int entry = 0;  ///< its place in the deck
  FaultWindow window;
  bool repeats = false;  ///< else it comes once in the run
  std::variant<Process, Dark> what;
};

/// The rank that suffers.
struct FaultSeat {
  int replica = 0, rank = 0;
  std::filesystem::path directory;  ///< of its replica in this run: what has come is marked there
};

/// When the deck's `entry`-th entry comes to that rank: once in the run, unless it repeats.
FaultOccasion fault_occasion(int entry, const FaultWindow& window, bool repeats, const FaultSeat& seat);

/// One per rank. Must outlive whatever it wrapped. Thread rule: `passes` is reached by one thread, the
/// rank's; all else by any.
class ReplicaFaultInjector final : public StepPoints {
 public:
  /// `delays`: on links between replicas, by the numbers of these.
  ReplicaFaultInjector(const std::vector<ReplicaFaultRequest>& requests, std::vector<LinkFault> delays,
                       const FaultSeat& seat);

  void reach(StepPoint point, std::int64_t step) override;
  std::unique_ptr<comm::Transport> wrap(std::unique_ptr<comm::Transport> transport) const;
  comm::MessageConnector wrap(comm::MessageConnector connect) const;

 private:
  PeerFaults links_;
  ProcessFaults processes_;
};

}  // namespace tenax::resilience
