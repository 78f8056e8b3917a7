// Jackson's preemptive one-machine schedule: the bound on a stage that lower_bound.cpp takes.
#pragma once

#include <vector>

#include "parallel/planner/planning_problem.hpp"

namespace tenax::parallel {

/// Cannot start before `head`, takes `time`, and is followed by at least `tail`.
struct PreemptiveJob {
  Nanoseconds head, time, tail;
};

/// The least makespan, tails included, of the jobs on one machine that may interrupt them: at any moment the released job
/// with the longest tail runs. Sorts `jobs`.
Nanoseconds preemptive_makespan(std::vector<PreemptiveJob>& jobs);

}  // namespace tenax::parallel
