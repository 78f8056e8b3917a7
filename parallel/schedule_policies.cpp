#include "parallel/schedule_policies.hpp"

#include <algorithm>
#include <cassert>

#include "kernels/error.hpp"
#include "parallel/schedule_generator.hpp"

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
  const int first = std::min({2 * stages - 1, microbatches, limit.microbatches(0)});
  std::vector<int> warmup{first};
  int even = first;  // Algorithm 1's x_i: slackness spread evenly, the larger ones first
  for (int stage = 1; stage < stages; ++stage) {
    even -= (first - 1) / (stages - 1) + (stage <= (first - 1) % (stages - 1) ? 1 : 0);
    // Algorithm 1 supposes x_0 ≥ S. Below that it would put neighbours at one warm-up forward each, which
    // run one microbatch at a time; S − s of them (1F1B's) keep the pipeline filled at the same x_0.
    const int filling = std::min(stages - stage, first);
    warmup.push_back(std::min({std::max(even, filling), warmup.back(), limit.microbatches(stage)}));
  }
  return warmup;
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
    case SchedulePolicy::adaptive:
      schedule = plan_zero_bubble(microbatches, costs, limit);
      break;
  }
  validate(schedule, microbatches, limit);
  return schedule;
}

}  // namespace tenax::parallel
