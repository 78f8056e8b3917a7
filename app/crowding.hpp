// Crowding: whether the ranks of a host have a core each.
#pragma once

#include <string>
#include <vector>

#include "comm/control_group.hpp"

namespace tenax::app {

/// Of the host that has the fewest cores for its ranks.
struct Crowding {
  int ranks = 0, cores = 1;
  /// Then passes take turns, and what they take says nothing about the machine.
  bool is_crowded() const { return ranks > cores; }
};

/// What a rank tells the others: its host, and the cores that it may run on.
std::string cores_text(const std::string& host);
/// `texts`: of all ranks. Cores that ranks are bound to count once, and no more than the processor time that their control
/// group may use.
Crowding crowding_of(const std::vector<std::string>& texts);

}  // namespace tenax::app
