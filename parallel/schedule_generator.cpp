// Against the paper's pseudo-code: an op's result is ready at its end plus the link's delay; the last stage's
// B comes from its own F and every W from its own B; a forward needs its input to have arrived and room for
// its activation; an event queue replaces fixed time steps; and B and F alternate strictly, because the
// priority B > F drains the surplus of warm-up forwards, which is the slack that absorbs delays later.
#include "parallel/schedule_generator.hpp"

#include <cassert>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <utility>

namespace tenax::parallel {
namespace {

using Nanoseconds = std::int64_t;

Nanoseconds to_ns(double seconds) { return std::llround(seconds * 1e9); }

/// One stage while the schedule grows. Counters are microbatch numbers, because every pass runs in order.
struct Stage {
  int warmup = 1, limit = 0;
  int forwards = 0, backwards = 0, weights = 0;     // started
  int forwards_arrived = 0, gradients_arrived = 0;  // inputs at hand
  int backwards_done = 0;                           // W's that may run
  bool busy = false;
  std::vector<PipelineOp> ops;
};

struct Event {
  Nanoseconds time;
  int order;  // of creation: equal times are handled in a fixed order
  int stage;
  enum class Kind { idle, forward_arrives, gradient_arrives } kind;
  bool operator>(const Event& other) const {
    return time != other.time ? time > other.time : order > other.order;
  }
};

class Generator {
 public:
  Generator(int microbatches, const PipelineCosts& costs, const std::vector<int>& warmup,
            const ActivationLimit& limit)
      : microbatches_(microbatches), costs_(costs), weight_share_(limit.weight_share) {
    for (std::size_t s = 0; s < warmup.size(); ++s) {
      stages_.emplace_back();
      stages_[s].warmup = warmup[s];
      stages_[s].limit = limit.microbatches(static_cast<int>(s));
    }
    stages_.front().forwards_arrived = microbatches;
  }

  PipelineSchedule run() {
    start_idle_stages(0);
    while (!events_.empty()) {
      const Nanoseconds now = events_.top().time;
      // Everything that happens at this moment is known before anyone chooses.
      for (; !events_.empty() && events_.top().time == now; events_.pop()) handle(events_.top());
      start_idle_stages(now);
    }
    PipelineSchedule schedule;
    for (Stage& stage : stages_) schedule.ops_of_stage.push_back(std::move(stage.ops));
    return schedule;
  }

 private:
  int last() const { return static_cast<int>(stages_.size()) - 1; }

  bool has_room(const Stage& stage) const {
    const int whole = stage.forwards - stage.backwards, share = stage.backwards - stage.weights;
    return whole + weight_share_ * share + 1 <= stage.limit * (1 + 1e-9);
  }

  /// The paper's SELECTOP.
  std::optional<Pass> select(const Stage& stage) const {
    const bool wants_forward =
        stage.forwards < microbatches_ && stage.forwards - stage.backwards < stage.warmup;
    if (wants_forward && stage.forwards < stage.forwards_arrived && has_room(stage)) return Pass::forward;
    if (!wants_forward && stage.backwards < stage.gradients_arrived) return Pass::backward_input;
    if (stage.weights < stage.backwards_done) return Pass::backward_weight;
    return std::nullopt;
  }

  void start_idle_stages(Nanoseconds now) {
    for (int s = 0; s <= last(); ++s) {
      Stage& stage = stages_[static_cast<std::size_t>(s)];
      if (stage.busy) continue;
      if (const auto pass = select(stage)) start(s, *pass, now);
    }
  }

  void start(int s, Pass pass, Nanoseconds now) {
    Stage& stage = stages_[static_cast<std::size_t>(s)];
    int& count = pass == Pass::forward          ? stage.forwards
                 : pass == Pass::backward_input ? stage.backwards
                                                : stage.weights;
    stage.ops.push_back({pass, count++});
    stage.busy = true;
    const Nanoseconds end = now + to_ns(costs_.stages[static_cast<std::size_t>(s)].of(pass));
    push(end, s, Event::Kind::idle);
    if (pass == Pass::forward && s < last())
      push(end + to_ns(costs_.delay_s(s)), s + 1, Event::Kind::forward_arrives);
    if (pass == Pass::forward && s == last()) push(end, s, Event::Kind::gradient_arrives);
    if (pass == Pass::backward_input && s > 0)
      push(end + to_ns(costs_.delay_s(s - 1)), s - 1, Event::Kind::gradient_arrives);
  }

  void push(Nanoseconds time, int stage, Event::Kind kind) {
    events_.push({time, next_order_++, stage, kind});
  }

  void handle(const Event& event) {
    Stage& stage = stages_[static_cast<std::size_t>(event.stage)];
    switch (event.kind) {
      case Event::Kind::idle:
        stage.busy = false;
        stage.backwards_done = stage.backwards;
        break;
      case Event::Kind::forward_arrives:
        ++stage.forwards_arrived;
        break;
      case Event::Kind::gradient_arrives:
        ++stage.gradients_arrived;
        break;
    }
  }

  int microbatches_;
  const PipelineCosts& costs_;
  double weight_share_;
  std::vector<Stage> stages_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  int next_order_ = 0;
};

}  // namespace

PipelineSchedule generate_schedule(int microbatches, const PipelineCosts& costs,
                                   const std::vector<int>& warmup, const ActivationLimit& limit) {
  assert(microbatches >= 1 && static_cast<int>(warmup.size()) == costs.stage_count());
  return Generator(microbatches, costs, warmup, limit).run();
}

}  // namespace tenax::parallel
