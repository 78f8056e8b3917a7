#include "parallel/policies/schedule_policy.hpp"

#include <algorithm>
#include <cassert>

#include "kernels/error.hpp"
#include "parallel/planner/baselines.hpp"
#include "parallel/planner/schedule_planner.hpp"

namespace tenax::parallel {
namespace {

using Costs = PipelineCosts;
using Limit = ActivationLimit;

PipelineSchedule gpipe(int microbatches, const Costs& costs, const Limit&) {
  return plan_gpipe(costs.stage_count(), microbatches);
}
PipelineSchedule one_f_one_b(int microbatches, const Costs& costs, const Limit&) {
  return plan_one_f_one_b(costs.stage_count(), microbatches);
}

std::int64_t all_live(std::int64_t, int, int microbatches) { return microbatches; }
std::int64_t warmup_live(std::int64_t, int stages, int microbatches) {
  return zero_bubble_warmup(stages, microbatches);
}

// Bounded by evaluations, so that every rank finds the same plan, however fast it is: about a tenth of a second.
PlanBudget planning_budget(int stages, int microbatches) {
  constexpr std::int64_t kPasses = 20'000'000, kLeast = 100, kMost = 50'000;
  const std::int64_t passes = 3LL * stages * microbatches;
  return {.seconds = 0, .evaluations = std::clamp(kPasses / passes, kLeast, kMost)};
}

/// Planned for the links' delays. Where there are none yet, with the largest uniform slackness that the limit allows, which
/// absorbs delays to come.
PipelineSchedule plan_for_delays(int microbatches, const Costs& costs, const Limit& limit) {
  const bool delayed = std::any_of(costs.link_delay_s.begin(), costs.link_delay_s.end(),
                                   [](double delay_s) { return delay_s > 0; });
  if (!delayed) return plan_initial(microbatches, costs, limit);
  const PlanBudget budget = planning_budget(costs.stage_count(), microbatches);
  return plan_adaptive({.microbatches = microbatches, .costs = costs, .limit = limit, .budget = budget})
      .schedule;
}

/// The slack for delays that have not happened yet takes half of what zero_bubble leaves of `fits`.
std::int64_t live_for_delays(std::int64_t fits, int stages, int microbatches) {
  if (stages == 1) return 1;
  const std::int64_t warmup = zero_bubble_warmup(stages, microbatches);
  return std::clamp<std::int64_t>((fits + warmup) / 2, warmup, microbatches);
}

void check_fits(const SchedulePolicy& policy, const PipelineSchedule& schedule, const Limit& limit) {
  for (int stage = 0; stage < schedule.stages(); ++stage) {
    const int slots = peak_slots(schedule, stage);
    if (slots > limit.microbatches(stage))
      throw kernels::Error(kernels::Scope::usage,
                           "schedule \"" + policy.name + "\" holds " + std::to_string(slots) +
                               " live activations on stage " + std::to_string(stage) +
                               ", more than the activation limit of " +
                               std::to_string(limit.microbatches(stage)) +
                               ": raise pipeline.activation_limit, or use \"zero_bubble\", which keeps any");
  }
}

}  // namespace

const std::vector<SchedulePolicy>& schedule_policies() {
  static const std::vector<SchedulePolicy> table = {
      {.name = "gpipe", .plan = gpipe, .useful_live = all_live},
      {.name = "1f1b", .plan = one_f_one_b, .useful_live = all_live, .pairs_messages = true},
      {.name = "zero_bubble", .plan = plan_zero_bubble, .useful_live = warmup_live, .keeps_any_limit = true},
      {.name = "adaptive",
       .plan = plan_for_delays,
       .useful_live = live_for_delays,
       .keeps_any_limit = true,
       .follows_delays = true},
  };
  return table;
}

const SchedulePolicy& policy_of_name(const std::string& name) {
  std::string known;
  for (const SchedulePolicy& policy : schedule_policies()) {
    if (policy.name == name) return policy;
    known += (known.empty() ? "" : ", ") + policy.name;
  }
  throw kernels::Error(kernels::Scope::usage, "unknown pipeline schedule \"" + name + "\": one of " + known);
}

PipelineSchedule plan_schedule(const SchedulePolicy& policy, int microbatches, const Costs& costs,
                               const Limit& limit) {
  assert(costs.stage_count() >= 1 && microbatches >= 1);
  PipelineSchedule schedule = policy.plan(microbatches, costs, limit);
  if (!policy.keeps_any_limit) check_fits(policy, schedule, limit);
  validate(schedule, microbatches, limit);
  return schedule;
}

}  // namespace tenax::parallel
