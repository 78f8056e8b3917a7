// Candidates: which strategies there are against a slow component, in this run. Pure.
#pragma once

#include <string>
#include <vector>

#include "parallel/layout/process_grid.hpp"
#include "resilience/diagnosis/component.hpp"
#include "resilience/mitigation/strategy.hpp"

namespace tenax::resilience {

/// What the deck allows, and what layout and machine leave possible.
struct Possibilities {
  std::vector<Strategy> allowed;  ///< `mitigate.strategies`; restart if `mitigate.restart` says so
  parallel::GridShape shape;
  int microbatches = 1;                   ///< of a data-parallel group, in the even split
  int most_microbatches = 1;              ///< of one that relieves others
  bool rings = false;                     ///< data groups' collectives go round a ring of ours
  bool swap_fits = false;                 ///< a rank has room for the states of both its places
  int spare_hosts = 0;                    ///< that a start which leaves others out can have instead
  std::vector<std::string> host_of_rank;  ///< of world ranks
};

/// Those that are allowed and possible in this layout, whatever becomes slow; in the order of
/// `Strategy`. A swap needs two stages: within a stage all places are alike, but for the ring.
std::vector<Strategy> possible_strategies(const Possibilities& run);

/// Those of them that can help against `component`, by its cause (Greyhound, table 2): of a slow
/// device fewer microbatches, a swap that puts slow ranks together, a restart; of a link all but
/// fewer microbatches, where a ring order is for data groups alone; of a tensor group's link, which
/// stays within its host, a restart alone. Of what all suffer from, and of `none`, nothing. A
/// restart needs another host for each that it leaves out.
std::vector<Strategy> candidates_against(const Component& component, const Possibilities& run);

/// The hosts of components: those that a restart because of them leaves out. Each once.
std::vector<std::string> hosts_of(const std::vector<Component>& components, const Possibilities& run);

/// Whether a swap with `other`, a rank, takes the component's rank away from what makes it slow.
/// What else runs on its processors belongs to a host: a rank of the same host has it, too.
bool leaves_cause_by_swap(const Component& component, int other, const Possibilities& run);

}  // namespace tenax::resilience
