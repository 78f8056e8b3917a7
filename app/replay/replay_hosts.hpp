// Where the two runs of a replay are.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "app/launch/host_list.hpp"

namespace tenax::app {

/// Of the first run and of the second.
using ReplayHosts = std::array<std::vector<HostSlots>, 2>;

/// `on`: what --on says, "HOST[:SLOTS],…"; empty: both are on this machine, or in the allocation. One
/// host has both runs; of several the first half has the first one. A host without slots takes its
/// share of `ranks`. Throws Error(usage) for another text, an odd number of hosts, or too few slots.
ReplayHosts replay_hosts(const std::string& on, int ranks);

}  // namespace tenax::app
