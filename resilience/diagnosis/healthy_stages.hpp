// HealthyStages: what the ranks of each stage take when nothing is slow.
#pragma once

#include <map>
#include <vector>

#include "parallel/layout/process_grid.hpp"
#include "resilience/diagnosis/rank_figures.hpp"

namespace tenax::resilience {

/// Work belongs to stages: a rank that has moved to another one has measured nothing healthy there,
/// but those that were there before it have. Pure. One thread.
class HealthyStages {
 public:
  /// Reports, here and below: of all ranks, by world rank, at their places of `grid`. Of a stage of
  /// which they tell nothing healthy what was known stays.
  void learn(const std::vector<RankReport>& reports, const parallel::ProcessGrid& grid);
  /// Gives ranks of which nothing healthy is known what is healthy in their stage: seconds of their
  /// passes, and of their tensor group's collectives.
  void complete(std::vector<RankReport>& reports, const parallel::ProcessGrid& grid) const;

 private:
  std::map<int, double> compute_s_, tensor_s_;  // by stage: the lower median of its ranks, of its groups
};

}  // namespace tenax::resilience
