#include "parallel/schedule_policies.hpp"

#include <algorithm>
#include <cassert>

#include "kernels/error.hpp"
#include "parallel/schedule_generator.hpp"
#include "parallel/schedule_planner.hpp"
#include "parallel/warmup_counts.hpp"

namespace tenax::parallel {
namespace {

/// gpipe and 1f1b: `ahead` forwards, then F and BW in turn, then the rest of the BWs.
std::vector<PipelineOp> fused_stage(int ahead, int microbatches) {
  std::vector<PipelineOp> ops;
  for (int forward = 0, backward = 0; backward < microbatches; ++backward) {
    for (; forward < std::min(microbatches, backward + ahead); ++forward)
      ops.push_back({Pass::forward, forward});
    ops.push_back({Pass::backward, backward});
  }
  return ops;
}

void check_fits(const char* policy, const PipelineSchedule& schedule, const ActivationLimit& limit) {
  for (int stage = 0; stage < schedule.stages(); ++stage) {
    const int slots = peak_slots(schedule, stage);
    if (slots > limit.microbatches(stage))
      throw kernels::Error(kernels::Scope::usage,
                           std::string("schedule \"") + policy + "\" holds " + std::to_string(slots) +
                               " live activations on stage " + std::to_string(stage) +
                               ", more than the activation limit of " +
                               std::to_string(limit.microbatches(stage)) +
                               ": raise pipeline.activation_limit, or use \"zero_bubble\", which keeps any");
  }
}

// Bounded by evaluations, so that every rank finds the same plan, however fast it is: about a tenth of a second.
PlanBudget planning_budget(int stages, int microbatches) {
  constexpr std::int64_t kPasses = 20'000'000, kLeast = 100, kMost = 50'000;
  const std::int64_t passes = 3LL * stages * microbatches;
  return {.seconds = 0, .evaluations = std::clamp(kPasses / passes, kLeast, kMost)};
}

PipelineSchedule plan_for_links(int microbatches, const PipelineCosts& costs, const ActivationLimit& limit) {
  const bool delayed = std::any_of(costs.link_delay_s.begin(), costs.link_delay_s.end(),
                                   [](double delay_s) { return delay_s > 0; });
  if (!delayed) return plan_initial(microbatches, costs, limit);
  const PlanBudget budget = planning_budget(costs.stage_count(), microbatches);
  return plan_adaptive({.microbatches = microbatches, .costs = costs, .limit = limit, .budget = budget})
      .schedule;
}

}  // namespace

SchedulePolicy policy_of_name(const std::string& name) {
  if (name == "gpipe") return SchedulePolicy::gpipe;
  if (name == "1f1b") return SchedulePolicy::one_f_one_b;
  if (name == "zero_bubble") return SchedulePolicy::zero_bubble;
  if (name == "adaptive") return SchedulePolicy::adaptive;
  throw kernels::Error(kernels::Scope::usage, "unknown pipeline schedule \"" + name +
                                                  "\": one of gpipe, 1f1b, zero_bubble, adaptive");
}

PipelineSchedule plan_gpipe(int stages, int microbatches) {
  return {std::vector(static_cast<std::size_t>(stages), fused_stage(microbatches, microbatches))};
}

PipelineSchedule plan_one_f_one_b(int stages, int microbatches) {
  PipelineSchedule schedule;
  for (int stage = 0; stage < stages; ++stage)
    schedule.ops_of_stage.push_back(fused_stage(stages - stage, microbatches));
  return schedule;
}

std::vector<int> initial_warmup(int stages, int microbatches, const ActivationLimit& limit) {
  const PlanningProblem timeless(microbatches, PipelineCosts::uniform(stages, {}), limit);
  return even_warmup(timeless, std::min(2 * stages - 1, timeless.most_live(0)));
}

PipelineSchedule plan_zero_bubble(int microbatches, const PipelineCosts& costs,
                                  const ActivationLimit& limit) {
  PipelineCosts healthy = costs;
  healthy.link_delay_s.clear();
  GeneratorOptions options{.warmup = initial_warmup(costs.stage_count(), microbatches, limit),
                           .limit = limit};
  // Deferring W helps nobody when no other stage waits: one stage keeps one live microbatch.
  if (costs.stage_count() == 1) options.limit.microbatches_of_stage = {1};
  return generate_schedule(microbatches, healthy, options);
}

PipelineSchedule plan_schedule(SchedulePolicy policy, int microbatches, const PipelineCosts& costs,
                               const ActivationLimit& limit) {
  const int stages = costs.stage_count();
  assert(stages >= 1 && microbatches >= 1);
  PipelineSchedule schedule;
  switch (policy) {
    case SchedulePolicy::gpipe:
      schedule = plan_gpipe(stages, microbatches);
      check_fits("gpipe", schedule, limit);
      break;
    case SchedulePolicy::one_f_one_b:
      schedule = plan_one_f_one_b(stages, microbatches);
      check_fits("1f1b", schedule, limit);
      break;
    case SchedulePolicy::zero_bubble:
      schedule = plan_zero_bubble(microbatches, costs, limit);
      break;
    case SchedulePolicy::adaptive:
      schedule = plan_for_links(microbatches, costs, limit);
      break;
  }
  validate(schedule, microbatches, limit);
  return schedule;
}

}  // namespace tenax::parallel
