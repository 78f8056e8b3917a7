#include "comm/verbs/live_ports.hpp"

#include <algorithm>

#include "kernels/host.hpp"

namespace tenax::comm::verbs {
std::vector<PortStatus> nearest_first(std::vector<PortStatus> ports, int node) {
  const auto is_on_node = [node](const PortStatus& status) { return status.port.numa_node == node; };
  const auto first = std::find_if(ports.begin(), ports.end(), is_on_node);
  if (first == ports.end()) return ports;
  std::rotate(ports.begin(), first, ports.end());
  const auto others = std::stable_partition(ports.begin(), ports.end(), is_on_node);
  for (auto other = others; other != ports.end(); ++other) other->port.is_near = false;
  return ports;
}

LivePorts::LivePorts(const VerbsPortOptions& options, int local_rank, PortWatch::OnChange on_change)
    : on_change_(std::move(on_change)) {
  ports_ = Ports(options, local_rank).chosen();
  const std::optional<int> node = kernels::bound_numa_node();  // who may run on several is near to all
  if (options.patterns.empty() && node) ports_ = nearest_first(std::move(ports_), *node);
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
      if (const bool is_near = status.port.is_near; status.name == change.status.name) {
        status = change.status;
        status.port.is_near = is_near;
      }
  }
  on_change_(change);
}

}  // namespace tenax::comm::verbs
