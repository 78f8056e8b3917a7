#include "comm/verbs/live_ports.hpp"

#include <sched.h>

#include <algorithm>

namespace tenax::comm::verbs {
namespace {

/// Of the processor that this thread runs on; −1: not known.
int own_numa_node() {
  unsigned node = 0;
  return getcpu(nullptr, &node) == 0 ? static_cast<int>(node) : -1;
}

std::vector<PortStatus> nearest_first(std::vector<PortStatus> ports) {
  const int node = own_numa_node();
  std::stable_partition(ports.begin(), ports.end(),
                        [&](const PortStatus& status) { return status.port.numa_node == node; });
  return ports;
}

}  // namespace

LivePorts::LivePorts(const VerbsPortOptions& options, int local_rank, PortWatch::OnChange on_change)
    : on_change_(std::move(on_change)) {
  ports_ = Ports(options, local_rank).chosen();
  if (options.patterns.empty()) ports_ = nearest_first(std::move(ports_));
  if (!ports_.empty()) watch_.emplace(all(), options, [this](const PortChange& change) { take(change); });
}

std::vector<Port> LivePorts::usable() const {
  const std::lock_guard lock(mutex_);
  std::vector<Port> usable;
  for (const PortStatus& status : ports_)
    if (status.is_usable()) usable.push_back(status.port);
  return usable;
}

std::vector<PortStatus> LivePorts::all() const {
  const std::lock_guard lock(mutex_);
  return ports_;
}

void LivePorts::take(const PortChange& change) {
  {
    const std::lock_guard lock(mutex_);
    for (PortStatus& status : ports_)
      if (status.name == change.status.name) status = change.status;
  }
  on_change_(change);
}

}  // namespace tenax::comm::verbs
