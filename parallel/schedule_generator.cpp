// Against the paper's pseudo-code: an op's result is ready at its end plus the link's delay; the last stage's
// B comes from its own F and every W from its own B; a forward needs its input to have arrived and room for
// its activation; an event queue replaces fixed time steps; and B and F alternate strictly, because the
// priority B > F drains the surplus of warm-up forwards, which is the slack that absorbs delays later.
#include "parallel/schedule_generator.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <utility>

namespace tenax::parallel {
namespace {

using Nanoseconds = std::int64_t;
constexpr Nanoseconds kUnknown = std::numeric_limits<Nanoseconds>::max() / 2;

Nanoseconds to_ns(double seconds) { return std::llround(seconds * 1e9); }

/// One stage while the schedule grows. All passes run in microbatch order: counters say it all.
struct Stage {
  int warmup = 1, limit = 0;
  Nanoseconds forward_ns = 0, backward_input_ns = 0, backward_weight_ns = 0;
  int forwards = 0, backwards = 0, weights = 0;  // started
  Nanoseconds busy_until = 0;
  std::vector<Nanoseconds> input_arrival, gradient_arrival;  // per microbatch, once known
  std::vector<PipelineOp> ops;
};

class Generator {
 public:
  Generator(int microbatches, const PipelineCosts& costs, const GeneratorOptions& options)
      : microbatches_(microbatches), costs_(costs), options_(options), stages_(costs.stages.size()) {
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      Stage& stage = stages_[s];
      stage.warmup = options.warmup[s];
      stage.limit = options.limit.microbatches(static_cast<int>(s));
      assert(stage.warmup >= 1 && stage.warmup <= std::min(microbatches, stage.limit));
      stage.forward_ns = to_ns(costs.stages[s].forward_s);
      stage.backward_input_ns = to_ns(costs.stages[s].backward_input_s);
      stage.backward_weight_ns = to_ns(costs.stages[s].backward_weight_s);
      stage.input_arrival.assign(static_cast<std::size_t>(microbatches), s == 0 ? 0 : kUnknown);
      stage.gradient_arrival.assign(static_cast<std::size_t>(microbatches), kUnknown);
    }
  }

  PipelineSchedule run() {
    for (int s = 0; s <= last(); ++s) wake(s, 0);
    for (; !wakes_.empty(); wakes_.pop()) {
      const auto [now, s] = wakes_.top();
      if (now < stages_[static_cast<std::size_t>(s)].busy_until) continue;
      if (const auto pass = select(stages_[static_cast<std::size_t>(s)], now)) start(s, *pass, now);
    }
    PipelineSchedule schedule;
    for (Stage& stage : stages_) {
      assert(stage.weights == microbatches_ && "every stage finishes: warm-up is non-increasing and fits");
      schedule.ops_of_stage.push_back(std::move(stage.ops));
    }
    return schedule;
  }

 private:
  using Wake = std::pair<Nanoseconds, int>;  // time, stage

  int last() const { return static_cast<int>(stages_.size()) - 1; }
  void wake(int s, Nanoseconds time) { wakes_.emplace(time, s); }

  bool has_room(const Stage& stage) const {
    const int whole = stage.forwards - stage.backwards, share = stage.backwards - stage.weights;
    return whole + options_.limit.weight_share * share + 1 <= stage.limit * (1 + 1e-9);
  }

  /// The paper's SELECTOP.
  std::optional<Pass> select(const Stage& stage, Nanoseconds now) const {
    const bool forward = stage.forwards < microbatches_ && stage.forwards - stage.backwards < stage.warmup;
    const bool backward = !forward && stage.backwards < microbatches_;
    Nanoseconds arrival = kUnknown;
    if (forward) arrival = stage.input_arrival[static_cast<std::size_t>(stage.forwards)];
    if (backward) arrival = stage.gradient_arrival[static_cast<std::size_t>(stage.backwards)];
    if (arrival <= now && (!forward || has_room(stage)))
      return forward ? Pass::forward : Pass::backward_input;
    if (stage.weights < stage.backwards) return Pass::backward_weight;
    return std::nullopt;
  }

  void start(int s, Pass pass, Nanoseconds now) {
    Stage& stage = stages_[static_cast<std::size_t>(s)];
    switch (pass) {
      case Pass::forward:
        stage.busy_until = now + stage.forward_ns;
        if (s == last())
          deliver(&Stage::gradient_arrival, s, stage.forwards, stage.busy_until);
        else
          deliver(&Stage::input_arrival, s + 1, stage.forwards, stage.busy_until + to_ns(costs_.delay_s(s)));
        stage.ops.push_back({pass, stage.forwards++});
        break;
      case Pass::backward_input:
        stage.busy_until = now + stage.backward_input_ns;
        if (s > 0)
          deliver(&Stage::gradient_arrival, s - 1, stage.backwards,
                  stage.busy_until + to_ns(costs_.delay_s(s - 1)));
        stage.ops.push_back({pass, stage.backwards++});
        break;
      default:
        stage.busy_until = now + stage.backward_weight_ns;
        stage.ops.push_back({Pass::backward_weight, stage.weights++});
    }
    wake(s, stage.busy_until);
  }

  void deliver(std::vector<Nanoseconds> Stage::*arrivals, int s, int microbatch, Nanoseconds time) {
    (stages_[static_cast<std::size_t>(s)].*arrivals)[static_cast<std::size_t>(microbatch)] = time;
    wake(s, time);
  }

  int microbatches_;
  const PipelineCosts& costs_;
  const GeneratorOptions& options_;
  std::vector<Stage> stages_;
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes_;
};

}  // namespace

PipelineSchedule generate_schedule(int microbatches, const PipelineCosts& costs,
                                   const GeneratorOptions& options) {
  assert(microbatches >= 1 && static_cast<int>(options.warmup.size()) == costs.stage_count());
  return Generator(microbatches, costs, options).run();
}

}  // namespace tenax::parallel
