#include "parallel/planner/order_evaluator.hpp"

#include <algorithm>

namespace tenax::parallel {

OrderEvaluator::OrderEvaluator(const PlanningProblem& problem)
    : problem_(problem),
      count_(problem.microbatches),
      ops_per_stage_(problem.ops_per_stage()),
      starts_(static_cast<std::size_t>(problem.ops())),
      forward_arrival_(row(problem.stages(), count_)),
      backward_arrival_(forward_arrival_.size()),
      states_(problem.times.size()) {}

void OrderEvaluator::reset() {
  std::fill(forward_arrival_.begin(), forward_arrival_.begin() + count_, 0);
  std::fill(forward_arrival_.begin() + count_, forward_arrival_.end(), kNever);
  std::fill(backward_arrival_.begin(), backward_arrival_.end(), kNever);
  runnable_.clear();
  for (int stage = problem_.stages() - 1; stage >= 0; --stage) {
    const auto s = static_cast<std::size_t>(stage);
    states_[s] = {};
    states_[s].work_left = problem_.times[s].sum() * count_;
    runnable_.push_back(stage);
  }
}

Nanoseconds OrderEvaluator::evaluate(const PassOrder& order, Nanoseconds cutoff) {
  reset();
  while (!runnable_.empty()) {
    const int stage = runnable_.back();
    runnable_.pop_back();
    if (!advance(stage, order, cutoff)) return kNever;
  }
  Nanoseconds makespan = 0;
  for (const StageState& state : states_) {
    if (state.next < ops_per_stage_) return kNever;
    makespan = std::max(makespan, state.free_at);
  }
  return makespan;
}

// Runs the stage until an input is unknown; false when the stage cannot end by `cutoff`.
bool OrderEvaluator::advance(int stage, const PassOrder& order, Nanoseconds cutoff) {
  const auto s = static_cast<std::size_t>(stage);
  StageState& state = states_[s];
  const StageTimes& times = problem_.times[s];
  const std::uint8_t* word = order.word(stage);
  Nanoseconds* starts = starts_.data() + row(stage, ops_per_stage_);
  const Nanoseconds* inputs = forward_arrivals(stage);
  const Nanoseconds* gradients = backward_arrivals(stage);
  state.awaited = nullptr;
  for (; state.next < ops_per_stage_; ++state.next) {
    const std::uint8_t letter = word[state.next];
    Nanoseconds start = state.free_at;
    if (letter != kWeight) {
      const Nanoseconds* arrival = letter == kForward ? inputs + state.forwards : gradients + state.backwards;
      if (*arrival == kNever) {
        state.awaited = arrival;
        return true;
      }
      start = std::max(start, *arrival);
    }
    if (start + state.work_left > cutoff) return false;
    const Nanoseconds duration = times.of(letter);
    starts[state.next] = start;
    state.free_at = start + duration;
    state.work_left -= duration;
    if (letter == kForward) {
      if (stage + 1 == problem_.stages())
        backward_arrival_[row(stage, count_) + static_cast<std::size_t>(state.forwards)] = state.free_at;
      else
        deliver(forward_arrival_, stage + 1, state.forwards, s, state.free_at);
      ++state.forwards;
    } else if (letter == kBackward) {
      if (stage > 0) deliver(backward_arrival_, stage - 1, state.backwards, s - 1, state.free_at);
      ++state.backwards;
    }
  }
  return true;
}

void OrderEvaluator::deliver(std::vector<Nanoseconds>& arrivals, int stage, int microbatch, std::size_t link,
                             Nanoseconds sent) {
  Nanoseconds* cell = arrivals.data() + row(stage, count_) + microbatch;
  *cell = problem_.arrival(link, sent, microbatch > 0 ? cell[-1] : 0);
  if (states_[static_cast<std::size_t>(stage)].awaited == cell) runnable_.push_back(stage);
}

}  // namespace tenax::parallel
