// A lower bound on the makespan of every order: each stage as a single machine with release times and tails.
#pragma once

#include "parallel/planner/planning_problem.hpp"

namespace tenax::parallel {

/// No schedule of this problem is faster. Heads and tails of every pass follow from the chains of passes, the work and
/// the memory of the stages before and after it; each stage is then bounded by Jackson's preemptive schedule.
Nanoseconds lower_bound(const PlanningProblem& problem);

}  // namespace tenax::parallel
