#include "parallel/planner/baselines.hpp"

#include <algorithm>

#include "parallel/planner/schedule_generator.hpp"
#include "parallel/planner/warmup_counts.hpp"

namespace tenax::parallel {
namespace {

/// `ahead` forwards, then F and BW in turn, then the rest of the BWs.
std::vector<PipelineOp> fused_stage(int ahead, int microbatches) {
  std::vector<PipelineOp> ops;
  for (int forward = 0, backward = 0; backward < microbatches; ++backward) {
    for (; forward < std::min(microbatches, backward + ahead); ++forward)
      ops.push_back({Pass::forward, forward});
    ops.push_back({Pass::backward, backward});
  }
  return ops;
}

}  // namespace

PipelineSchedule plan_gpipe(int stages, int microbatches) {
  return {std::vector(static_cast<std::size_t>(stages), fused_stage(microbatches, microbatches))};
}

PipelineSchedule plan_one_f_one_b(int stages, int microbatches) {
  PipelineSchedule schedule;
  for (int stage = 0; stage < stages; ++stage)
    schedule.ops_of_stage.push_back(fused_stage(stages - stage, microbatches));
  return schedule;
}

int zero_bubble_warmup(int stages, int microbatches) { return std::min(2 * stages - 1, microbatches); }

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

}  // namespace tenax::parallel
