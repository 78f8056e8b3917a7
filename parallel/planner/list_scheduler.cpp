// Against the paper's pseudo-code: an op's result is ready at its end plus the link's delay; the last stage's B comes
// from its own F and every W from its own B; a forward needs its input to have arrived and room for its activation; an
// event queue replaces fixed time steps; and the warm-up slack can be kept (alternate): the priority B > F drains it.
#include "parallel/planner/list_scheduler.hpp"

#include <algorithm>
#include <cassert>

namespace tenax::parallel {
namespace {

constexpr int kWait = -1;

}  // namespace

ListScheduler::ListScheduler(const PlanningProblem& problem)
    : problem_(problem),
      stages_(problem.times.size()),
      forward_arrival_(stages_.size() * static_cast<std::size_t>(problem.microbatches)),
      backward_arrival_(forward_arrival_.size()) {}

std::size_t ListScheduler::at(int s, int microbatch) const {
  return static_cast<std::size_t>(s) * static_cast<std::size_t>(problem_.microbatches) +
         static_cast<std::size_t>(microbatch);
}

void ListScheduler::reset() {
  std::fill(stages_.begin(), stages_.end(), Stage{});
  std::fill(forward_arrival_.begin(), forward_arrival_.begin() + problem_.microbatches, 0);
  std::fill(forward_arrival_.begin() + problem_.microbatches, forward_arrival_.end(), kNever);
  std::fill(backward_arrival_.begin(), backward_arrival_.end(), kNever);
}

PassOrder ListScheduler::build(const std::vector<StageRule>& rules, SearchRandom* random, int rarity) {
  reset();
  random_ = random;
  rarity_ = rarity;
  PassOrder order(problem_.stages(), problem_.ops_per_stage());
  stages_[0].decides_at = 0;
  for (int s = 0; s >= 0; s = next_to_decide()) {
    Stage& stage = stages_[static_cast<std::size_t>(s)];
    const StageRule& rule = rules[static_cast<std::size_t>(s)];
    const Nanoseconds now = stage.decides_at;
    stage.decides_at = kNever;
    const int letter = choose(s, rule, now);
    if (letter != kWait) start(s, static_cast<std::uint8_t>(letter), now, order);
    // Without a W to fill in, the stage sleeps until its next pass can start; deliver() wakes it for other news.
    const auto [forward, backward] = next_arrivals(s, rule);
    const bool can_fill = letter != kWait && stage.weights < stage.backwards;
    const Nanoseconds next = can_fill ? 0 : std::min(forward, backward);
    if (next < kNever) stage.decides_at = std::min(stage.decides_at, std::max(stage.busy_until, next));
  }
  for ([[maybe_unused]] const Stage& stage : stages_)
    assert(stage.weights == problem_.microbatches &&
           "every stage finishes: warm-up is non-increasing and fits");
  return order;
}

// In the order of time, at the same moment from the first stage on; −1 when nothing is left to decide.
int ListScheduler::next_to_decide() const {
  Nanoseconds earliest = kNever;
  int chosen = -1;
  for (int s = 0; s < problem_.stages(); ++s) {
    const Nanoseconds time = stages_[static_cast<std::size_t>(s)].decides_at;
    if (time >= earliest) continue;
    earliest = time;
    chosen = s;
  }
  return chosen;
}

std::pair<Nanoseconds, Nanoseconds> ListScheduler::next_arrivals(int s, const StageRule& rule) const {
  const Stage& stage = stages_[static_cast<std::size_t>(s)];
  const int live = stage.forwards - stage.backwards;
  bool forward = stage.forwards < problem_.microbatches, backward = stage.backwards < problem_.microbatches;
  if (rule.preference == Preference::alternate) {
    forward = forward && live < rule.warmup;
    backward = backward && !forward;
  } else {
    forward = forward && live < rule.cap;
    if (stage.forwards < rule.warmup) backward = false;
  }
  forward = forward && problem_.rooms[static_cast<std::size_t>(s)].admits(stage.forwards, stage.backwards,
                                                                          stage.weights);
  return {forward ? forward_arrival_[at(s, stage.forwards)] : kNever,
          backward ? backward_arrival_[at(s, stage.backwards)] : kNever};
}

int ListScheduler::choose(int s, const StageRule& rule, Nanoseconds now) {
  const Stage& stage = stages_[static_cast<std::size_t>(s)];
  const auto [forward, backward] = next_arrivals(s, rule);
  if (forward <= now && backward <= now) {
    const bool flip = random_ != nullptr && random_->below(rarity_) == 0;
    return (rule.preference == Preference::forward) != flip ? kForward : kBackward;
  }
  if (forward <= now) return kForward;
  if (backward <= now) return kBackward;
  if (stage.weights == stage.backwards) return kWait;
  return std::min(forward, backward) - now <= rule.patience ? kWait : kWeight;
}

void ListScheduler::start(int s, std::uint8_t letter, Nanoseconds now, PassOrder& order) {
  const auto i = static_cast<std::size_t>(s);
  Stage& stage = stages_[i];
  order.word(s)[stage.forwards + stage.backwards + stage.weights] = letter;
  stage.busy_until = now + problem_.times[i].of(letter);
  if (letter == kForward) {
    const int microbatch = stage.forwards++;
    if (s + 1 == problem_.stages())
      deliver(backward_arrival_, s, microbatch, stage.busy_until);
    else
      send(forward_arrival_, s + 1, microbatch, i, stage.busy_until);
  } else if (letter == kBackward) {
    const int microbatch = stage.backwards++;
    if (s > 0) send(backward_arrival_, s - 1, microbatch, i - 1, stage.busy_until);
  } else {
    ++stage.weights;
  }
}

void ListScheduler::send(std::vector<Nanoseconds>& arrivals, int s, int microbatch, std::size_t link,
                         Nanoseconds sent) {
  const Nanoseconds before = microbatch > 0 ? arrivals[at(s, microbatch - 1)] : 0;
  deliver(arrivals, s, microbatch, problem_.arrival(link, sent, before));
}

void ListScheduler::deliver(std::vector<Nanoseconds>& arrivals, int s, int microbatch, Nanoseconds time) {
  arrivals[at(s, microbatch)] = time;
  Stage& stage = stages_[static_cast<std::size_t>(s)];
  stage.decides_at = std::min(stage.decides_at, std::max(stage.busy_until, time));
}

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
