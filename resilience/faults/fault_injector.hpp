// FaultInjector: makes links as bad as a deck's [[inject]] entries say. It wraps the abstract
// classes that production code talks through; production code, detector and planner know nothing of
// it.
//
// Wrapped are connections (delegates, the emulated device's links) and, over MPI, the pipeline's
// links and the collectives of a group in which a delayed pair is. The control plane is not:
// control groups and endpoints, and the control connections of a shared channel, stand for a
// management network. A run without [[inject]] has no injector and no wrapper.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "comm/connection.hpp"
#include "comm/world.hpp"
#include "resilience/faults/link_faults.hpp"

namespace tenax::resilience {

class ConnectionRegistry;

/// One per rank. Must outlive whatever it wrapped. Thread rule: one thread, the rank's; what it
/// wrapped keeps its own rule.
class FaultInjector {
 public:
  explicit FaultInjector(std::vector<LinkFault> faults);
  ~FaultInjector();
  FaultInjector(const FaultInjector&) = delete;
  FaultInjector& operator=(const FaultInjector&) = delete;

  /// At the start of each step, on every rank, before its first message. Connections whose path is
  /// down from now on break, at both ends; messages under way on a direct link that is down fail. A
  /// direct path whose fault begins with this step goes down when some messages have passed
  /// (LinkFault::passing).
  void begin_step(std::int64_t step);

  /// The same ranks (`world` must outlive it), through links as bad as it is said above. Endpoints'
  /// links can be slow and down; collectives can be slow. `options`: those of `world`.
  std::unique_ptr<comm::World> wrap(comm::World& world, comm::CommOptions options);
  /// `rank`: this world rank.
  std::unique_ptr<comm::Transport> wrap(std::unique_ptr<comm::Transport> transport, int rank);

 private:
  LinkFaults faults_;
  std::unique_ptr<ConnectionRegistry> connections_;
};

/// Null where nothing is requested. `microbatches`: of an iteration. Throws Error(rank) for a trace
/// that cannot be read.
std::unique_ptr<FaultInjector> create_fault_injector(const std::vector<FaultRequest>& requests,
                                                     const parallel::ProcessGrid& grid, int microbatches);

}  // namespace tenax::resilience
