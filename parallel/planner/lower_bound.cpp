// Of each pass, its head is a time before which it cannot start, its tail what must follow its end. Both grow by rules
// that no schedule escapes, applied until nothing changes:
//   chain     a stage's F, B and W each run in microbatch order; F, B and W of one microbatch follow each other along
//             the stages, with the links' delays between
//   memory    the k-th F (from 0) of a stage with room for K needs k + 1 − K B's done, and, where a share of the
//             activation stays until W, so many W's
//   machine   what must precede a pass on its own stage needs time there: with releases r and times p, a set cannot
//             end before max over thresholds t of t + sum of p over r ≥ t; likewise what must follow it
// A stage then needs at least the makespan of Jackson's preemptive one-machine schedule for its heads and tails.
#include "parallel/planner/lower_bound.hpp"

#include <algorithm>
#include <array>
#include <queue>
#include <utility>
#include <vector>

namespace tenax::parallel {
namespace {

/// Cannot start before `head`, takes `time`, and is followed by at least `tail`.
struct PreemptiveJob {
  Nanoseconds head, time, tail;
};

/// Jackson's schedule: the least makespan, tails included, of the jobs on one machine that may interrupt them. At any moment
/// the released job with the longest tail runs. Sorts `jobs`.
Nanoseconds preemptive_makespan(std::vector<PreemptiveJob>& jobs) {
  std::sort(jobs.begin(), jobs.end(),
            [](const PreemptiveJob& a, const PreemptiveJob& b) { return a.head < b.head; });
  std::priority_queue<std::pair<Nanoseconds, Nanoseconds>> waiting;  // tail, time left
  Nanoseconds now = 0, makespan = 0;
  for (std::size_t next = 0; next < jobs.size() || !waiting.empty();) {
    if (waiting.empty()) now = std::max(now, jobs[next].head);
    for (; next < jobs.size() && jobs[next].head <= now; ++next)
      waiting.emplace(jobs[next].tail, jobs[next].time);
    const auto [tail, left] = waiting.top();
    waiting.pop();
    const Nanoseconds until = next < jobs.size() ? std::min(now + left, jobs[next].head) : now + left;
    if (until - now < left)
      waiting.emplace(tail, left - (until - now));
    else
      makespan = std::max(makespan, until + tail);
    now = until;
  }
  return makespan;
}

/// A prefix of one kind of pass, the i-th with key[i] (non-decreasing) and all with one time.
struct Prefix {
  const Nanoseconds* key;
  int count;
  Nanoseconds time;
};

/// The earliest end of all passes of three prefixes on one machine, by keys as release times. But for its last `exact`
/// passes a prefix is taken as a block: valid, nearly as tight, and linear in the microbatches.
Nanoseconds earliest_end(const std::array<Prefix, 3>& sets, int exact) {
  std::array<int, 3> next{};
  Nanoseconds first = kNever, block = 0;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    next[i] = std::max(0, sets[i].count - exact);
    block += next[i] * sets[i].time;
    if (sets[i].count > 0) first = std::min(first, sets[i].key[0]);
  }
  const auto key = [&](std::size_t i) { return next[i] < sets[i].count ? sets[i].key[next[i]] : kNever; };
  for (Nanoseconds end = first == kNever ? 0 : first + block;;) {
    const std::size_t forward_or_backward = key(0) <= key(1) ? 0 : 1;
    const std::size_t earliest = key(forward_or_backward) <= key(2) ? forward_or_backward : 2;
    if (next[earliest] == sets[earliest].count) return end;
    end = std::max(end, sets[earliest].key[next[earliest]++]) + sets[earliest].time;
  }
}

using Times = std::vector<Nanoseconds>;

/// Heads (or, seen from the end, tails) of one stage's passes, by microbatch. Tails are kept by distance from the last
/// microbatch, so that both are non-decreasing.
struct StageKeys {
  Times forward, backward, weight;
};

class Bounder {
 public:
  explicit Bounder(const PlanningProblem& problem)
      : problem_(problem), count_(problem.microbatches), stages_(problem.stages()) {
    const Times zeros(static_cast<std::size_t>(count_));
    heads_.assign(problem.times.size(), {zeros, zeros, zeros});
    tails_ = heads_;
    for (int s = 0; s < stages_; ++s) plan_memory(s);
  }

  Nanoseconds run() {
    // Any number of rounds is valid. Only memory makes later passes act on earlier stages: without it, one round is
    // all; with it, later rounds add little, and the largest problems get few.
    constexpr int kRoundsTimesPasses = 300'000;
    const bool limited = std::any_of(needed_.begin(), needed_.end(),
                                     [](const auto& needed) { return needed.first.back() > 0; });
    const int rounds = limited ? std::clamp(kRoundsTimesPasses / (stages_ * count_), 3, 20) : 1;
    for (int round = 0; round < rounds && grow_heads(); ++round) {
    }
    for (int round = 0; round < rounds && grow_tails(); ++round) {
    }
    Nanoseconds bound = 0;
    for (std::size_t s = 0; s < heads_.size(); ++s) bound = std::max(bound, stage_bound(s));
    return bound;
  }

 private:
  static std::size_t u(int i) { return static_cast<std::size_t>(i); }
  /// Index of microbatch k in the tails.
  std::size_t mirrored(int k) const { return u(count_ - 1 - k); }

  // B's and W's that must be done before the k-th F: the least of each that leaves room, the other done as far as
  // possible.
  void plan_memory(int s) {
    const StageRoom& room = problem_.rooms[u(s)];
    auto& [backwards, weights] = needed_.emplace_back();
    for (int k = 0; k < count_; ++k) {
      int backward = backwards.empty() ? 0 : backwards.back(), weight = weights.empty() ? 0 : weights.back();
      while (backward < k && !room.admits(k, backward, backward)) ++backward;
      while (weight < k && !room.admits(k, k, weight)) ++weight;
      backwards.push_back(std::max(backward, weight));
      weights.push_back(weight);
    }
  }

  bool raise(Nanoseconds& key, Nanoseconds value) {
    const bool raised = value > key;
    if (raised) key = value;
    return raised;
  }

  /// The end of so many passes of each kind on stage `s`, by its heads, or by its tails as seen from the end.
  Nanoseconds end_of_all(const StageKeys& keys, int s, int forwards, int backwards, int weights) const {
    constexpr int kExactTimesPasses = 500'000;
    const StageTimes& time = problem_.times[u(s)];
    return earliest_end({{{keys.forward.data(), forwards, time.forward},
                          {keys.backward.data(), backwards, time.backward},
                          {keys.weight.data(), weights, time.weight}}},
                        std::clamp(kExactTimesPasses / (stages_ * count_), 16, 64));
  }

  Nanoseconds end_of(const Times& heads, int index, Nanoseconds time) const {
    return index < 0 ? 0 : heads[u(index)] + time;
  }

  bool grow_heads() {
    bool grown = false;
    for (int s = 0; s < stages_; ++s) grown |= grow_forward_heads(s);
    for (int s = stages_ - 1; s >= 0; --s) grown |= grow_backward_heads(s);
    return grown;
  }

  bool grow_forward_heads(int s) {
    StageKeys& head = heads_[u(s)];
    const StageTimes& time = problem_.times[u(s)];
    const auto& [backwards, weights] = needed_[u(s)];
    bool grown = false;
    for (int k = 0; k < count_; ++k) {
      const int b = backwards[u(k)], w = weights[u(k)];
      if (s > 0)
        grown |= raise(head.forward[u(k)], heads_[u(s - 1)].forward[u(k)] + problem_.times[u(s - 1)].forward +
                                               problem_.delay[u(s - 1)]);
      grown |= raise(head.forward[u(k)], end_of(head.forward, k - 1, time.forward));
      if (b == 0) continue;  // the machine rule adds nothing to the chain of forwards
      grown |= raise(head.forward[u(k)], end_of_all(head, s, k, b, w));
    }
    return grown;
  }

  bool grow_backward_heads(int s) {
    StageKeys& head = heads_[u(s)];
    const std::vector<int>& weights = needed_[u(s)].second;  // before the k-th F, and so before its B
    bool grown = false;
    for (int k = 0; k < count_; ++k) {
      if (s + 1 < stages_)
        grown |= raise(head.backward[u(k)], heads_[u(s + 1)].backward[u(k)] +
                                                problem_.times[u(s + 1)].backward + problem_.delay[u(s)]);
      grown |= raise(head.backward[u(k)], end_of_all(head, s, k + 1, k, weights[u(k)]));
      grown |= raise(head.weight[u(k)], end_of_all(head, s, k + 1, k + 1, k));
    }
    return grown;
  }

  bool grow_tails() {
    bool grown = false;
    for (int s = 0; s < stages_; ++s) grown |= grow_backward_tails(s);
    for (int s = stages_ - 1; s >= 0; --s) grown |= grow_forward_tails(s);
    return grown;
  }

  /// The first F that needs more than `done` of the passes that `needed` counts; count_ if none does.
  int first_dependent(const std::vector<int>& needed, int done) const {
    return static_cast<int>(std::upper_bound(needed.begin(), needed.end(), done) - needed.begin());
  }

  bool grow_backward_tails(int s) {
    StageKeys& tail = tails_[u(s)];
    const auto& [backwards, weights] = needed_[u(s)];
    bool grown = false;
    for (int k = count_ - 1; k >= 0; --k) {
      const int behind = count_ - 1 - k;
      const int after_weight = count_ - first_dependent(weights, k);
      const int after_backward = count_ - first_dependent(backwards, k);
      grown |= raise(tail.weight[mirrored(k)], end_of_all(tail, s, after_weight, after_weight, behind));
      grown |= raise(tail.backward[mirrored(k)],
                     end_of_all(tail, s, after_backward, std::max(behind, after_backward), behind + 1));
      if (s > 0)
        grown |=
            raise(tail.backward[mirrored(k)], problem_.delay[u(s - 1)] + problem_.times[u(s - 1)].backward +
                                                  tails_[u(s - 1)].backward[mirrored(k)]);
    }
    return grown;
  }

  bool grow_forward_tails(int s) {
    StageKeys& tail = tails_[u(s)];
    bool grown = false;
    for (int k = count_ - 1; k >= 0; --k) {
      const int behind = count_ - 1 - k;
      grown |= raise(tail.forward[mirrored(k)], end_of_all(tail, s, behind, behind + 1, behind + 1));
      if (s + 1 < stages_)
        grown |= raise(tail.forward[mirrored(k)], problem_.delay[u(s)] + problem_.times[u(s + 1)].forward +
                                                      tails_[u(s + 1)].forward[mirrored(k)]);
    }
    return grown;
  }

  Nanoseconds stage_bound(std::size_t s) const {
    std::vector<PreemptiveJob> jobs;
    for (int k = 0; k < count_; ++k) {
      const StageTimes& time = problem_.times[s];
      jobs.push_back({heads_[s].forward[u(k)], time.forward, tails_[s].forward[mirrored(k)]});
      jobs.push_back({heads_[s].backward[u(k)], time.backward, tails_[s].backward[mirrored(k)]});
      jobs.push_back({heads_[s].weight[u(k)], time.weight, tails_[s].weight[mirrored(k)]});
    }
    return preemptive_makespan(jobs);
  }

  const PlanningProblem& problem_;
  int count_, stages_;
  std::vector<std::pair<std::vector<int>, std::vector<int>>>
      needed_;  // per stage: B's, W's before the k-th F
  std::vector<StageKeys> heads_, tails_;
};

}  // namespace

Nanoseconds lower_bound(const PlanningProblem& problem) { return Bounder(problem).run(); }

double makespan_lower_bound_s(int microbatches, const PipelineCosts& costs, const ActivationLimit& limit) {
  return to_seconds(lower_bound(PlanningProblem(microbatches, costs, limit)));
}

bool meets_bound(double makespan_s, double lower_bound_s) {
  return makespan_s <= lower_bound_s * (1 + 1e-9) + 1e-12;
}

}  // namespace tenax::parallel
