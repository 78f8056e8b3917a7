#include "parallel/policies/schedule_policy.hpp"

#include <algorithm>
#include <cassert>

#include "kernels/error.hpp"
#include "parallel/planner/baselines.hpp"
#include "parallel/policies/adaptive.hpp"

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
