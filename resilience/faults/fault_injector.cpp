#include "resilience/faults/fault_injector.hpp"

#include "resilience/faults/injected_connection.hpp"
#include "resilience/faults/injected_transport.hpp"
#include "resilience/faults/injected_world.hpp"

namespace tenax::resilience {

FaultInjector::FaultInjector(std::vector<LinkFault> faults)
    : faults_(std::move(faults)), connections_(std::make_unique<ConnectionRegistry>()) {}

FaultInjector::~FaultInjector() = default;

void FaultInjector::begin_step(std::int64_t step) {
  faults_.begin_step(step);
  connections_->cut_what_is_down();
}

std::unique_ptr<comm::World> FaultInjector::wrap(comm::World& world, comm::CommOptions options) {
  return std::make_unique<InjectedWorld>(world, faults_, options);
}

std::unique_ptr<comm::Transport> FaultInjector::wrap(std::unique_ptr<comm::Transport> transport, int rank) {
  return std::make_unique<InjectedTransport>(std::move(transport), rank, faults_, *connections_);
}

std::unique_ptr<FaultInjector> create_fault_injector(const std::vector<FaultRequest>& requests,
                                                     const parallel::ProcessGrid& grid, int microbatches) {
  if (requests.empty()) return nullptr;
  return std::make_unique<FaultInjector>(bind_faults(requests, grid, microbatches));
}

}  // namespace tenax::resilience
