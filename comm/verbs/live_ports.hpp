// LivePorts: the ports that a rank uses, as they are now.
#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "comm/verbs/port_watch.hpp"
#include "comm/verbs/ports.hpp"

namespace tenax::comm::verbs {

/// Those of the NUMA node first; the others, which become far ones, in the order in which they follow, in a ring, the
/// node's first: processes of different nodes begin with different far ports. All as they were where the node has none.
std::vector<PortStatus> nearest_first(std::vector<PortStatus> ports, int node);

/// Thread rule: any thread.
class LivePorts {
 public:
  /// `local_rank`: this process's number on its host. `on_change`: as PortWatch's, after it can be seen
  /// here. Throws Error(rank) for a pattern that names no port, and Error(link) where the kernel has no
  /// descriptor left.
  LivePorts(const VerbsPortOptions& options, int local_rank, PortWatch::OnChange on_change);

  /// Those that can be used, in order of preference: the deck's order, else those nearest to this
  /// process's memory first.
  std::vector<Port> usable() const;
  /// All that are wanted.
  std::vector<PortStatus> all() const;
  /// As PortWatch's.
  void report_failure(const std::string& port) {
    if (watch_) watch_->report_failure(port);
  }

 private:
  void take(const PortChange& change);

  mutable std::mutex mutex_;
  std::vector<PortStatus> ports_;
  const PortWatch::OnChange on_change_;
  std::optional<PortWatch> watch_;  // none where there is no port; ends first: it calls take()
};

}  // namespace tenax::comm::verbs
