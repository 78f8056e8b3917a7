#include "parallel/policies/adaptive.hpp"

#include <algorithm>

#include "parallel/planner/baselines.hpp"
#include "parallel/planner/schedule_planner.hpp"

namespace tenax::parallel {
namespace {

// Bounded by evaluations, so that every rank finds the same plan, however fast it is: about a tenth of a second.
PlanBudget planning_budget(int stages, int microbatches) {
  constexpr std::int64_t kPasses = 20'000'000, kLeast = 100, kMost = 50'000;
  const std::int64_t passes = 3LL * stages * microbatches;
  return {.seconds = 0, .evaluations = std::clamp(kPasses / passes, kLeast, kMost)};
}

}  // namespace

PipelineSchedule plan_for_delays(int microbatches, const PipelineCosts& costs, const ActivationLimit& limit) {
  const bool delayed = std::any_of(costs.link_delay_s.begin(), costs.link_delay_s.end(),
                                   [](double delay_s) { return delay_s > 0; });
  if (!delayed) return plan_initial(microbatches, costs, limit);
  const PlanBudget budget = planning_budget(costs.stage_count(), microbatches);
  return plan_adaptive({.microbatches = microbatches, .costs = costs, .limit = limit, .budget = budget})
      .schedule;
}

std::int64_t live_for_delays(std::int64_t fits, int stages, int microbatches) {
  if (stages == 1) return 1;
  const std::int64_t warmup = zero_bubble_warmup(stages, microbatches);
  return std::clamp<std::int64_t>((fits + warmup) / 2, warmup, microbatches);
}

}  // namespace tenax::parallel
