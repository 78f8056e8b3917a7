#include "resilience/faults/replica_fault_injector.hpp"

#include <unistd.h>

#include <string>
#include <utility>

#include "resilience/faults/injected_message_link.hpp"
#include "resilience/faults/injected_peer_transport.hpp"

namespace tenax::resilience {
namespace {

using Process = ReplicaFaultRequest::Process;
using Dark = ReplicaFaultRequest::Dark;

FaultOccasion occasion_of(const ReplicaFaultRequest& request, const FaultSeat& seat) {
  return fault_occasion(request.entry, request.window, request.repeats, seat);
}

std::vector<Partition> partitions_of(const std::vector<ReplicaFaultRequest>& requests,
                                     const FaultSeat& seat) {
  std::vector<Partition> partitions;
  for (const ReplicaFaultRequest& request : requests) {
    const auto* dark = std::get_if<Dark>(&request.what);
    if (!dark || (dark->replica != seat.replica && dark->peer != seat.replica)) continue;
    const int peer = dark->replica == seat.replica ? dark->peer : dark->replica;
    if (peer == PeerFaults::kService && seat.rank != 0) continue;
    partitions.push_back({.occasion = occasion_of(request, seat), .peer = peer, .seconds = dark->seconds});
  }
  return partitions;
}

// The launcher's are its child's affair.
std::vector<ProcessFault> processes_of(const std::vector<ReplicaFaultRequest>& requests,
                                       const FaultSeat& seat) {
  std::vector<ProcessFault> faults;
  for (const ReplicaFaultRequest& request : requests) {
    const auto* process = std::get_if<Process>(&request.what);
    if (!process || process->replica != seat.replica) continue;
    const bool is_launcher = process->rank == ReplicaFaultRequest::kLauncher;
    if (seat.rank != (is_launcher ? 0 : process->rank)) continue;
    faults.push_back({.occasion = occasion_of(request, seat),
                      .point = process->point,
                      .victim = is_launcher ? getppid() : getpid(),
                      .stops = process->stops,
                      .stop_s = process->stop_s});
  }
  return faults;
}

}  // namespace

FaultOccasion fault_occasion(int entry, const FaultWindow& window, bool repeats, const FaultSeat& seat) {
  const std::string name = "inject-" + std::to_string(entry) + ".rank-" + std::to_string(seat.rank);
  return {window, repeats ? std::filesystem::path() : seat.directory / name};
}

ReplicaFaultInjector::ReplicaFaultInjector(const std::vector<ReplicaFaultRequest>& requests,
                                           std::vector<LinkFault> delays, const FaultSeat& seat)
    : links_(seat.replica, partitions_of(requests, seat), std::move(delays)),
      processes_(processes_of(requests, seat)) {}

void ReplicaFaultInjector::reach(StepPoint point, std::int64_t step) {
  if (point == StepPoint::passes) links_.begin_step(step);
  processes_.reach(point, step, links_.run_s());
}

std::unique_ptr<comm::Transport> ReplicaFaultInjector::wrap(
    std::unique_ptr<comm::Transport> transport) const {
  return std::make_unique<InjectedPeerTransport>(std::move(transport), links_);
}

comm::MessageConnector ReplicaFaultInjector::wrap(comm::MessageConnector connect) const {
  return [this, connect = std::move(connect)](const comm::MessageClientOptions& options) {
    return InjectedMessageLink::make(connect, options, links_);
  };
}

}  // namespace tenax::resilience
