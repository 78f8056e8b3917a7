// MadeUpGrid: tensor groups of known speeds with links of known slowness, and how long an iteration takes with them.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "resilience/mitigation/placement_times.hpp"

namespace tenax::resilience {

/// 0, 1 … size - 1.
std::vector<int> counted(int size);

struct MadeUpGrid {
  parallel::GridShape shape;
  int microbatches = 8;
  double data_s = 4;                       ///< of a healthy data group's collectives
  double message_s = 0.02;                 ///< of a pipeline's message
  std::vector<double> work = {};           ///< of a stage, a microbatch's; 1 each where it is empty
  std::map<int, double> slow_groups = {};  ///< factor of a group
  std::map<std::pair<int, int>, double> slow_links = {};  ///< factor of two groups, the lower one first

  std::vector<int> suspects() const;
  /// As one forward, one backward: the longest stage for each microbatch but one, every stage once; messages there and back.
  double pipeline_s(std::span<const int> groups) const;
  /// A ring is as slow as its slowest link.
  double data_group_s(std::span<const int> groups) const;
  GridTimes times() const;
  /// Group p at place p.
  PlacementTimes at_launch() const;
  /// Of all permutations of a few groups.
  double best_iteration_s() const;

 private:
  double link_factor(int one, int other) const;
};

}  // namespace tenax::resilience
