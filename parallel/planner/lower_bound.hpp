// A lower bound on the makespan of every order of passes: each stage as a single machine with
// release times and tails.
#pragma once

#include "parallel/planner/planning_problem.hpp"
#include "parallel/schedule/pipeline_costs.hpp"
#include "parallel/schedule/pipeline_schedule.hpp"

namespace tenax::parallel {

/// No schedule of this problem is faster. The head of a pass is a time before which it cannot
/// start, its tail what must follow its end. Both follow from the chains of passes, and from the
/// work and the memory of the stages before and after. Each stage is then bounded by Jackson's
/// preemptive one-machine schedule.
Nanoseconds lower_bound(const PlanningProblem& problem);

/// The same in seconds.
double makespan_lower_bound_s(int microbatches, const PipelineCosts& costs, const ActivationLimit& limit);

/// Whether a makespan equals a bound on it, but for rounding to nanoseconds.
bool meets_bound(double makespan_s, double lower_bound_s);

}  // namespace tenax::parallel
