#include "parallel/schedule/timeline.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

#include "parallel/schedule/dependency_walk.hpp"
#include "parallel/schedule/link_timeline.hpp"

namespace tenax::parallel {
namespace {

int microbatches_of(const PipelineSchedule& schedule) {
  int microbatches = 0;
  for (const auto& ops : schedule.ops_of_stage)
    for (const PipelineOp& op : ops) microbatches = std::max(microbatches, op.microbatch + 1);
  return microbatches;
}

/// The recurrence start = max(end of the stage's previous op, arrival of the input), op by op in an order in
/// which all inputs are known.
class LatencyTimeline {
 public:
  LatencyTimeline(const PipelineSchedule& schedule, const PipelineCosts& costs)
      : schedule_(schedule),
        costs_(costs),
        microbatches_(microbatches_of(schedule)),
        forward_end_s_(schedule.ops_of_stage.size() * static_cast<std::size_t>(microbatches_)),
        gradient_end_s_(forward_end_s_.size()) {
    for (const auto& ops : schedule.ops_of_stage) times_.emplace_back(ops.size());
  }

  std::vector<std::vector<OpTime>> run() {
    DependencyWalk(schedule_, microbatches_).run([this](int stage, int index) { place(stage, index); });
    return std::move(times_);
  }

 private:
  std::size_t at(int stage, int microbatch) const {
    return static_cast<std::size_t>(stage) * static_cast<std::size_t>(microbatches_) +
           static_cast<std::size_t>(microbatch);
  }

  double arrival_s(int stage, const PipelineOp& op) const {
    if (op.pass == Pass::forward)
      return stage == 0 ? 0.0 : forward_end_s_[at(stage - 1, op.microbatch)] + costs_.delay_s(stage - 1);
    if (op.pass == Pass::backward_weight || stage + 1 == schedule_.stages()) return 0.0;  // its own F or B
    return gradient_end_s_[at(stage + 1, op.microbatch)] + costs_.delay_s(stage);
  }

  void place(int stage, int index) {
    const auto s = static_cast<std::size_t>(stage);
    const auto i = static_cast<std::size_t>(index);
    const PipelineOp& op = schedule_.ops_of_stage[s][i];
    OpTime& time = times_[s][i];
    time.start_s = std::max(index == 0 ? 0.0 : times_[s][i - 1].end_s, arrival_s(stage, op));
    time.end_s = time.start_s + costs_.stages[s].of(op.pass);
    if (op.pass == Pass::forward) forward_end_s_[at(stage, op.microbatch)] = time.end_s;
    if (gives_input_gradient(op.pass)) gradient_end_s_[at(stage, op.microbatch)] = time.end_s;
  }

  const PipelineSchedule& schedule_;
  const PipelineCosts& costs_;
  int microbatches_;
  std::vector<double> forward_end_s_, gradient_end_s_;  // [stage][microbatch]
  std::vector<std::vector<OpTime>> times_;
};

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

Timeline simulate(const PipelineSchedule& schedule, const PipelineCosts& costs) {
  return simulate(schedule, costs, TransferModel{});
}

Timeline simulate(const PipelineSchedule& schedule, const PipelineCosts& costs,
                  const TransferModel& transfers) {
  assert(costs.stage_count() == schedule.stages());
  assert(costs.link_delay_s.empty() || static_cast<int>(costs.link_delay_s.size()) == schedule.stages() - 1);
  if (transfers.kind == TransferModel::Kind::latency)
    return summary_of(LatencyTimeline(schedule, costs).run());
  const int microbatches = microbatches_of(schedule);
  DependencyWalk(schedule, microbatches).run([](int, int) {});
  return summary_of(LinkTimeline(schedule, microbatches, costs, transfers).run());
}

std::string draw_gantt(const PipelineSchedule& schedule, const Timeline& timeline, int width) {
  double end_s = 0;
  for (const auto& ops : timeline.ops_of_stage)
    if (!ops.empty()) end_s = std::max(end_s, ops.back().end_s);
  const auto column_of = [&](double time_s) {
    return end_s > 0 ? static_cast<std::size_t>(std::lround(time_s / end_s * width)) : std::size_t{0};
  };
  const std::size_t label_width = std::to_string(schedule.stages() - 1).size();
  std::string chart;
  for (std::size_t stage = 0; stage < timeline.ops_of_stage.size(); ++stage) {
    std::string line(static_cast<std::size_t>(width), '.');
    for (std::size_t i = 0; i < timeline.ops_of_stage[stage].size(); ++i) {
      const std::size_t begin = column_of(timeline.ops_of_stage[stage][i].start_s);
      const std::size_t columns = column_of(timeline.ops_of_stage[stage][i].end_s) - begin;
      std::string label = to_string(schedule.ops_of_stage[stage][i]);
      if (label.size() > columns) label.resize(1);
      label.resize(columns, '-');
      line.replace(begin, columns, label);
    }
    const std::string number = std::to_string(stage);
    chart += "stage " + std::string(label_width - number.size(), ' ') + number + " |" + line + "|\n";
  }
  return chart;
}

}  // namespace tenax::parallel
