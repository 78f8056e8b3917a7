#include "parallel/planner/planning_problem.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

namespace tenax::parallel {
namespace {

constexpr double kLimitTolerance = 1e-9;  // of validate()

}  // namespace

Nanoseconds to_nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

PlanningProblem::PlanningProblem(int count, const PipelineCosts& costs, const ActivationLimit& limit)
    : microbatches(count) {
  assert(count >= 1 && costs.stage_count() >= 1);
  for (int stage = 0; stage < costs.stage_count(); ++stage) {
    const StageCosts& each = costs.stages[static_cast<std::size_t>(stage)];
    times.push_back({to_nanoseconds(each.forward_s), to_nanoseconds(each.backward_input_s),
                     to_nanoseconds(each.backward_weight_s)});
    const double capacity = limit.none() ? std::numeric_limits<double>::infinity()
                                         : limit.microbatches(stage) * (1 + kLimitTolerance);
    assert(capacity >= 1);
    rooms.push_back({capacity, limit.weight_share});
    if (stage == 0) continue;
    delay.push_back(to_nanoseconds(costs.delay_s(stage - 1)));
    held.push_back(to_nanoseconds(costs.held_s(stage - 1)));
  }
}

int PlanningProblem::most_live(int stage) const {
  return static_cast<int>(
      std::min(rooms[static_cast<std::size_t>(stage)].capacity, static_cast<double>(microbatches)));
}

PassOrder order_of(const PipelineSchedule& schedule, const PlanningProblem& problem) {
  PassOrder order(schedule.stages(), problem.ops_per_stage());
  for (int stage = 0; stage < schedule.stages(); ++stage) {
    std::uint8_t* letter = order.word(stage);
    for (const PipelineOp& op : schedule.ops_of_stage[static_cast<std::size_t>(stage)]) {
      if (op.pass == Pass::forward) *letter++ = kForward;
      if (gives_input_gradient(op.pass)) *letter++ = kBackward;
      if (gives_weight_gradient(op.pass)) *letter++ = kWeight;
    }
    assert(letter == order.word(stage) + problem.ops_per_stage() && "a complete schedule");
  }
  return order;
}

PipelineSchedule schedule_of(const PassOrder& order, int stages) {
  constexpr std::array<Pass, 3> kPassOfLetter = {Pass::forward, Pass::backward_input, Pass::backward_weight};
  PipelineSchedule schedule;
  for (int stage = 0; stage < stages; ++stage) {
    std::array<int, 3> count{};
    auto& ops = schedule.ops_of_stage.emplace_back();
    ops.reserve(static_cast<std::size_t>(order.ops_per_stage()));
    for (int i = 0; i < order.ops_per_stage(); ++i) {
      const std::size_t letter = order.word(stage)[i];
      ops.push_back({kPassOfLetter[letter], count[letter]++});
    }
  }
  return schedule;
}

bool is_admissible(const PlanningProblem& problem, int stage, const std::uint8_t* word) {
  const StageRoom& room = problem.rooms[static_cast<std::size_t>(stage)];
  int forwards = 0, backwards = 0, weights = 0;
  for (int i = 0; i < problem.ops_per_stage(); ++i) {
    if (word[i] == kForward) {
      if (!room.admits(forwards, backwards, weights)) return false;
      ++forwards;
    } else if (word[i] == kBackward) {
      if (++backwards > forwards) return false;
    } else if (++weights > backwards) {
      return false;
    }
  }
  return true;
}

std::vector<int> warmup_of(const PipelineSchedule& schedule) {
  std::vector<int> warmup;
  for (const auto& ops : schedule.ops_of_stage) {
    const auto first_backward =
        std::find_if(ops.begin(), ops.end(), [](const PipelineOp& op) { return op.pass != Pass::forward; });
    warmup.push_back(static_cast<int>(first_backward - ops.begin()));
  }
  return warmup;
}

}  // namespace tenax::parallel
