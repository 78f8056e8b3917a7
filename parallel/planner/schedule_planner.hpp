// The adaptive planner: a schedule near the optimum for measured pass times and link delays, within
// memory.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel/planner/lower_bound.hpp"
#include "parallel/planner/plan_budget.hpp"
#include "parallel/schedule/pipeline_costs.hpp"
#include "parallel/schedule/pipeline_schedule.hpp"

namespace tenax::parallel {

struct PlanRequest {
  int microbatches = 1;
  PipelineCosts costs;
  ActivationLimit limit;
  PlanBudget budget;
  std::uint64_t seed = 1;
};

struct Plan {
  PipelineSchedule schedule;
  double makespan_s = 0;     ///< by simulate(), links delegated
  double lower_bound_s = 0;  ///< no schedule is faster
  bool optimal = false;      ///< makespan_s equals lower_bound_s
};

/// Never worse than gpipe, 1f1b or zero_bubble where those fit the limit. Deterministic for a seed
/// and a budget in evaluations.
Plan plan_adaptive(const PlanRequest& request);

/// For links whose delays are unknown (PipeMorph, NSDI 2026, Algorithm 1): the largest uniform
/// slackness that `limit` (no limit: all microbatches) allows, B and F in strict alternation.
PipelineSchedule plan_initial(int microbatches, const PipelineCosts& costs, const ActivationLimit& limit);

}  // namespace tenax::parallel
