// The optimum of a small planning problem, proven: a branch-and-bound that shares nothing with the planner. The second
// implementation that the planner and its lower bound are measured against.
//
// All microbatches cost the same, so any schedule can be renumbered such that every stage runs its F, its B and its W
// each in microbatch order (the k-th F of a stage cannot start before the k-th F of the stage above has arrived, and so
// on), without moving an op or changing what is live when. The optimum over such orders is the optimum.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tenax::parallel {

/// Times in any integer unit; the optimum is in the same.
struct ExactProblem {
  int microbatches = 1;
  std::vector<std::int64_t> forward, backward, weight;  // per stage
  std::vector<std::int64_t> delay;                      // per link
  std::vector<int> limit;                               // per stage; empty = none
  double weight_share = 0;
  int stages() const { return static_cast<int>(forward.size()); }
};

/// The least makespan below `above`, `above` itself if there is none below it; nothing when `nodes` did not suffice.
std::optional<std::int64_t> solve_exactly(const ExactProblem& problem, std::int64_t above,
                                          std::int64_t nodes);

}  // namespace tenax::parallel
