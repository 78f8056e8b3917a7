#include "parallel/planner/schedule_generator.hpp"

#include <cassert>

#include "parallel/planner/list_scheduler.hpp"

namespace tenax::parallel {

PipelineSchedule generate_schedule(int microbatches, const PipelineCosts& costs,
                                   const GeneratorOptions& options) {
  assert(microbatches >= 1 && static_cast<int>(options.warmup.size()) == costs.stage_count());
  const PlanningProblem problem(microbatches, costs, options.limit);
  std::vector<StageRule> rules;
  for (int stage = 0; stage < problem.stages(); ++stage) {
    const int warmup = options.warmup[static_cast<std::size_t>(stage)];
    assert(warmup >= 1 && warmup <= problem.most_live(stage));
    rules.push_back({Preference::alternate, warmup, warmup, 0});
  }
  return schedule_of(ListScheduler(problem).build(rules), problem.stages());
}

}  // namespace tenax::parallel
