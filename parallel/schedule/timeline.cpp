#include "parallel/schedule/timeline.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include "parallel/schedule/dependency_walk.hpp"
#include "parallel/schedule/pipeline_simulation.hpp"

namespace tenax::parallel {
namespace {

int microbatches_of(const PipelineSchedule& schedule) {
  int microbatches = 0;
  for (const auto& ops : schedule.ops_of_stage)
    for (const PipelineOp& op : ops) microbatches = std::max(microbatches, op.microbatch + 1);
  return microbatches;
}

double bubble_rate_of(const std::vector<OpTime>& ops) {
  if (ops.empty() || ops.back().end_s <= ops.front().start_s) return 0;
  double busy_s = 0;
  for (const OpTime& op : ops) busy_s += op.end_s - op.start_s;
  // Summing may exceed the span by a rounding error: a stage that never idles has no bubble, not a negative.
  return std::max(0.0, 1 - busy_s / (ops.back().end_s - ops.front().start_s));
}

Timeline summary_of(std::vector<std::vector<OpTime>> times) {
  Timeline timeline{.ops_of_stage = std::move(times), .makespan_s = 0, .bubble_rate = {}};
  double first_start_s = std::numeric_limits<double>::infinity(), last_end_s = -first_start_s;
  for (const auto& ops : timeline.ops_of_stage) {
    timeline.bubble_rate.push_back(bubble_rate_of(ops));
    if (ops.empty()) continue;
    first_start_s = std::min(first_start_s, ops.front().start_s);
    last_end_s = std::max(last_end_s, ops.back().end_s);
  }
  timeline.makespan_s = std::max(0.0, last_end_s - first_start_s);
  return timeline;
}

}  // namespace

Timeline simulate(const PipelineSchedule& schedule, const PipelineCosts& costs,
                  const TransferModel& transfers) {
  assert(costs.stage_count() == schedule.stages());
  assert(costs.link_delay_s.empty() || static_cast<int>(costs.link_delay_s.size()) == schedule.stages() - 1);
  const int microbatches = microbatches_of(schedule);
  DependencyWalk(schedule, microbatches).run([](int, int) {});
  return summary_of(PipelineSimulation(schedule, microbatches, costs, transfers).run());
}

std::vector<double> idle_before_s(const std::vector<OpTime>& ops) {
  std::vector<double> idle_s;
  double free_s = 0;
  for (const OpTime& op : ops) {
    idle_s.push_back(std::max(0.0, op.start_s - free_s));
    free_s = op.end_s;
  }
  return idle_s;
}

}  // namespace tenax::parallel
