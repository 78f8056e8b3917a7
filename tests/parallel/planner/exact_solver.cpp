// Branching as Giffler and Thompson's: of all passes that could come next on their stage, the one that can end first
// (at C) names the stage; one branch for each pass of that stage that can start before C. That reaches an optimal
// schedule: a stage never profits from idling where a pass would fit, for passes done earlier never take room from
// those after them. A node is cut when Jackson's preemptive schedule of some stage's remaining passes, with heads and
// tails, reaches the best makespan known, or when another node that has done the same passes was nowhere later.
#include "tests/parallel/planner/exact_solver.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "tests/parallel/planner/exact_bounds.hpp"

namespace tenax::parallel {
namespace {

constexpr Time kUnknown = std::numeric_limits<Time>::max() / 4;

class Solver {
 public:
  Solver(const ExactProblem& problem, Time above, std::int64_t nodes)
      : p_(problem),
        S_(problem.stages()),
        N_(problem.microbatches),
        best_(above),
        nodes_left_(nodes),
        tail_(exact_tails(problem)) {
    for (int s = 0; s < S_; ++s) {
      const auto u = static_cast<std::size_t>(s);
      time_.push_back({p_.forward[u], p_.backward[u], p_.weight[u]});
    }
    const std::vector<Time> row(static_cast<std::size_t>(N_), kUnknown);
    for (auto* arrivals : {&forward_arrival_, &backward_arrival_, &forward_head_, &backward_head_})
      arrivals->assign(static_cast<std::size_t>(S_), row);
    std::fill(forward_arrival_[0].begin(), forward_arrival_[0].end(), 0);
    done_.assign(static_cast<std::size_t>(S_), {0, 0, 0});
    free_at_.assign(static_cast<std::size_t>(S_), 0);
  }

  std::optional<Time> run() {
    search();
    if (nodes_left_ < 0) return std::nullopt;
    return best_;
  }

 private:
  struct Candidate {
    int kind;
    Time start, end;
  };
  struct Row {
    Time time[3];
  };
  struct Counts {
    int of[3];
  };

  std::size_t u(int i) const { return static_cast<std::size_t>(i); }

  bool has_room(int s) const {
    if (p_.limit.empty()) return true;
    const auto& done = done_[u(s)].of;
    return done[kF] - done[kB] + p_.weight_share * (done[kB] - done[kW]) + 1 <= p_.limit[u(s)] * (1 + 1e-9);
  }

  std::vector<Candidate> candidates(int s) const {
    std::vector<Candidate> result;
    const auto& done = done_[u(s)].of;
    const auto add = [&](int kind, Time arrival) {
      if (arrival == kUnknown) return;
      const Time start = std::max(free_at_[u(s)], arrival);
      result.push_back({kind, start, start + time_[u(s)].time[kind]});
    };
    if (done[kB] < N_) add(kB, backward_arrival_[u(s)][u(done[kB])]);
    if (done[kF] < N_ && has_room(s)) add(kF, forward_arrival_[u(s)][u(done[kF])]);
    if (done[kW] < done[kB]) add(kW, 0);
    return result;
  }

  // Heads of all remaining passes: known arrivals, else by the chains.
  void compute_heads() {
    for (int s = 0; s < S_; ++s) {
      Time previous = free_at_[u(s)];
      for (int k = done_[u(s)].of[kF]; k < N_; ++k) {
        Time head = forward_arrival_[u(s)][u(k)];
        if (head == kUnknown)
          head = forward_head_[u(s - 1)][u(k)] + time_[u(s - 1)].time[kF] + p_.delay[u(s - 1)];
        forward_head_[u(s)][u(k)] = head = std::max(head, previous);
        previous = head + time_[u(s)].time[kF];
      }
    }
    for (int s = S_ - 1; s >= 0; --s) {
      Time previous = free_at_[u(s)];
      for (int k = done_[u(s)].of[kB]; k < N_; ++k) {
        Time head = backward_arrival_[u(s)][u(k)];
        if (head == kUnknown)
          head = s + 1 == S_ ? forward_head_[u(s)][u(k)] + time_[u(s)].time[kF]
                             : backward_head_[u(s + 1)][u(k)] + time_[u(s + 1)].time[kB] + p_.delay[u(s)];
        if (k >= done_[u(s)].of[kF]) head = std::max(head, forward_head_[u(s)][u(k)] + time_[u(s)].time[kF]);
        backward_head_[u(s)][u(k)] = head = std::max(head, previous);
        previous = head + time_[u(s)].time[kB];
      }
    }
  }

  Time stage_bound(int s) {
    jobs_.clear();
    const auto& done = done_[u(s)].of;
    const auto& time = time_[u(s)].time;
    const auto& tail = tail_[u(s)];
    for (int k = done[kF]; k < N_; ++k)
      jobs_.push_back({forward_head_[u(s)][u(k)], time[kF], tail.of[kF][u(k)]});
    for (int k = done[kB]; k < N_; ++k)
      jobs_.push_back({backward_head_[u(s)][u(k)], time[kB], tail.of[kB][u(k)]});
    for (int k = done[kW]; k < N_; ++k) {
      const Time head = k < done[kB] ? free_at_[u(s)] : backward_head_[u(s)][u(k)] + time[kB];
      jobs_.push_back({head, time[kW], tail.of[kW][u(k)]});
    }
    if (jobs_.empty()) return free_at_[u(s)];
    return preemptive_bound(jobs_);
  }

  // All that the future depends on: per stage its earliest next start, and what is under way to it.
  std::vector<Time> situation() const {
    std::vector<Time> times;
    for (int s = 0; s < S_; ++s) {
      const auto& done = done_[u(s)].of;
      Time next = kUnknown;
      if (done[kF] < N_) next = std::min(next, forward_head_[u(s)][u(done[kF])]);
      if (done[kB] < N_) next = std::min(next, backward_head_[u(s)][u(done[kB])]);
      if (done[kW] < done[kB]) next = std::min(next, free_at_[u(s)]);
      times.push_back(std::max(free_at_[u(s)], next == kUnknown ? 0 : next));
      const Time least = times.back();
      if (s > 0)
        for (int k = done[kF]; k < done_[u(s - 1)].of[kF]; ++k)
          times.push_back(std::max(least, forward_arrival_[u(s)][u(k)]));
      if (s + 1 < S_)
        for (int k = done[kB]; k < done_[u(s + 1)].of[kB]; ++k)
          times.push_back(std::max(least, backward_arrival_[u(s)][u(k)]));
    }
    return times;
  }

  bool is_dominated() {
    std::uint64_t key = 0;
    for (const Counts& done : done_)
      for (const int count : done.of)
        key = key * static_cast<std::uint64_t>(N_ + 1) + static_cast<std::uint64_t>(count);
    const std::vector<Time> times = situation();
    auto& seen = seen_[key];
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const std::vector<Time>& other = seen[i];
      if (std::equal(other.begin(), other.end(), times.begin(), [](Time a, Time b) { return a <= b; })) {
        if (i > 0) std::swap(seen[i], seen[i / 2]);
        return true;
      }
    }
    std::erase_if(seen, [&](const std::vector<Time>& other) {
      return std::equal(times.begin(), times.end(), other.begin(), [](Time a, Time b) { return a <= b; });
    });
    constexpr std::size_t kMostSeen = 2000;
    if (seen.size() < kMostSeen) seen.push_back(times);
    return false;
  }

  bool is_complete() const {
    return std::all_of(done_.begin(), done_.end(), [&](const Counts& done) { return done.of[kW] == N_; });
  }

  void search() {
    if (--nodes_left_ < 0) return;
    if (is_complete()) {
      best_ = std::min(best_, *std::max_element(free_at_.begin(), free_at_.end()));
      return;
    }
    compute_heads();
    for (int s = 0; s < S_; ++s)
      if (stage_bound(s) >= best_) return;
    if (is_dominated()) return;
    int stage = -1;
    Time first_end = kUnknown;
    std::vector<Candidate> chosen;
    for (int s = 0; s < S_; ++s) {
      const std::vector<Candidate> all = candidates(s);
      for (const Candidate& candidate : all)
        if (candidate.end < first_end) {
          first_end = candidate.end;
          stage = s;
        }
      if (stage == s) chosen = all;
    }
    for (const Candidate& candidate : chosen)
      if (candidate.start < first_end || candidate.end == first_end) branch(stage, candidate);
  }

  void branch(int s, const Candidate& candidate) {
    auto& done = done_[u(s)].of;
    const Time free_before = free_at_[u(s)];
    const int k = done[candidate.kind]++;
    free_at_[u(s)] = candidate.end;
    Time* arrival = nullptr;
    if (candidate.kind == kF)
      arrival = s + 1 < S_ ? &forward_arrival_[u(s + 1)][u(k)] : &backward_arrival_[u(s)][u(k)];
    if (candidate.kind == kB && s > 0) arrival = &backward_arrival_[u(s - 1)][u(k)];
    if (arrival) {
      Time delay = 0;
      if (candidate.kind == kF && s + 1 < S_) delay = p_.delay[u(s)];
      if (candidate.kind == kB) delay = p_.delay[u(s - 1)];
      *arrival = candidate.end + delay;
    }
    search();
    if (arrival) *arrival = kUnknown;
    free_at_[u(s)] = free_before;
    --done_[u(s)].of[candidate.kind];
  }

  const ExactProblem& p_;
  int S_, N_;
  Time best_;
  std::int64_t nodes_left_;
  std::vector<ExactTails> tail_;
  std::vector<Row> time_;
  std::vector<Counts> done_;
  std::vector<Time> free_at_;
  std::vector<std::vector<Time>> forward_arrival_, backward_arrival_, forward_head_, backward_head_;
  std::vector<ExactJob> jobs_;
  std::unordered_map<std::uint64_t, std::vector<std::vector<Time>>> seen_;
};

}  // namespace

std::optional<std::int64_t> solve_exactly(const ExactProblem& problem, std::int64_t above,
                                          std::int64_t nodes) {
  return Solver(problem, above, nodes).run();
}

}  // namespace tenax::parallel
