// Ops are finished in the order of their end times, so that messages are posted in the order of time: what a channel
// that serves the first comer needs. Of two that end at the same moment, the earlier stage posts first: an activation
// before a gradient of the same link.
#include "parallel/schedule/pipeline_simulation.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

namespace tenax::parallel {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();

}  // namespace

PipelineSimulation::PipelineSimulation(const PipelineSchedule& schedule, int microbatches,
                                       const PipelineCosts& costs, const TransferModel& model)
    : schedule_(schedule),
      costs_(costs),
      model_(model),
      microbatches_(static_cast<std::size_t>(microbatches)),
      stages_(schedule.ops_of_stage.size()),
      forward_arrival_s_(stages_.size() * microbatches_, kUnknown),
      gradient_arrival_s_(forward_arrival_s_),
      channel_free_s_(2 * stages_.size()) {
  assert(model.queue_depth >= 1);
  assert(model.delegated.empty() || model.delegated.size() + 1 == stages_.size());
  for (const auto& ops : schedule.ops_of_stage) times_.emplace_back(ops.size());
}

std::vector<std::vector<OpTime>> PipelineSimulation::run() {
  for (int stage = 0; stage < schedule_.stages(); ++stage) try_start(stage);
  while (!running_.empty()) {
    const auto [end_s, stage] = running_.top();
    running_.pop();
    finish(stage, end_s);
  }
  return std::move(times_);
}

double PipelineSimulation::arrival_s(int stage, const PipelineOp& op) const {
  if (op.pass == Pass::backward_weight) return 0;
  if (op.pass == Pass::forward) return stage == 0 ? 0.0 : forward_arrival_s_[at(stage, op.microbatch)];
  return stage + 1 == schedule_.stages() ? 0.0 : gradient_arrival_s_[at(stage, op.microbatch)];
}

void PipelineSimulation::try_start(int stage) {
  const auto s = static_cast<std::size_t>(stage);
  Stage& state = stages_[s];
  if (state.running || state.next == schedule_.ops_of_stage[s].size()) return;
  const PipelineOp& op = schedule_.ops_of_stage[s][state.next];
  const double arrival = arrival_s(stage, op);
  if (arrival == kUnknown) return;
  OpTime& time = times_[s][state.next];
  time.start_s = std::max(state.free_s, arrival);
  time.end_s = time.start_s + costs_.stages[s].of(op.pass);
  state.running = true;
  running_.emplace(time.end_s, stage);
}

void PipelineSimulation::finish(int stage, double end_s) {
  Stage& state = stages_[static_cast<std::size_t>(stage)];
  const PipelineOp& op = schedule_.ops_of_stage[static_cast<std::size_t>(stage)][state.next++];
  state.running = false;
  state.free_s = end_s;
  if (op.pass == Pass::forward && stage + 1 < schedule_.stages()) {
    forward_arrival_s_[at(stage + 1, op.microbatch)] = post_s(stage, stage, end_s);
    try_start(stage + 1);
  }
  if (gives_input_gradient(op.pass) && stage > 0) {
    gradient_arrival_s_[at(stage - 1, op.microbatch)] = post_s(stage, stage - 1, end_s);
    try_start(stage - 1);
  }
  try_start(stage);
}

double PipelineSimulation::post_s(int stage, int link, double end_s) {
  const double delay_s = costs_.delay_s(link);
  const int direction = link != stage ? 1 : 0;
  const bool delegated = !model_.delegated.empty() && model_.delegated[static_cast<std::size_t>(link)] != 0;
  if (delegated || model_.kind == TransferModel::Kind::latency)
    return cross_channel_s(link, direction, end_s, costs_.held_s(link), delay_s);
  if (model_.kind == TransferModel::Kind::shared_channel)
    return cross_channel_s(link, model_.paired ? direction : 0, end_s, delay_s, delay_s);
  Stage& state = stages_[static_cast<std::size_t>(stage)];
  std::vector<double>& departed_s = state.departed_s;
  const auto depth = static_cast<std::size_t>(model_.queue_depth);
  if (departed_s.size() >= depth) state.free_s = std::max(end_s, departed_s[departed_s.size() - depth]);
  const double transit_s = departed_s.empty() ? state.free_s : std::max(state.free_s, departed_s.back());
  departed_s.push_back(transit_s + delay_s);
  return departed_s.back();
}

double PipelineSimulation::cross_channel_s(int link, int direction, double end_s, double held_s,
                                           double delay_s) {
  double& free_s = channel_free_s_[static_cast<std::size_t>(2 * link + direction)];
  const double start_s = std::max(free_s, end_s);
  free_s = start_s + held_s;
  return start_s + delay_s;
}

}  // namespace tenax::parallel
