// What the exact solver knows of the passes that are still to come.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/parallel/planner/exact_solver.hpp"

namespace tenax::parallel {

using Time = std::int64_t;
enum Kind { kF = 0, kB = 1, kW = 2 };

/// Of one stage, by kind and microbatch: the least time from the end of a pass to the end of the schedule.
struct ExactTails {
  std::vector<Time> of[3];
};
/// By the chains up and down the stages, and the passes of the stage itself that come after.
std::vector<ExactTails> exact_tails(const ExactProblem& problem);

struct ExactJob {
  Time head, time, tail;
};
/// Jackson's preemptive schedule of the jobs on one machine. Sorts `jobs`.
Time preemptive_bound(std::vector<ExactJob>& jobs);

}  // namespace tenax::parallel
