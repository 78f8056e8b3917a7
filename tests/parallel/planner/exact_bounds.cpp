#include "tests/parallel/planner/exact_bounds.hpp"

#include <algorithm>
#include <array>
#include <queue>
#include <utility>

namespace tenax::parallel {
namespace {

std::size_t u(int i) { return static_cast<std::size_t>(i); }

std::array<Time, 3> times_of(const ExactProblem& problem, int s) {
  return {problem.forward[u(s)], problem.backward[u(s)], problem.weight[u(s)]};
}

}  // namespace

std::vector<ExactTails> exact_tails(const ExactProblem& problem) {
  const int stages = problem.stages(), count = problem.microbatches;
  std::vector<ExactTails> tails(u(stages));
  for (auto& stage : tails)
    for (auto& kind : stage.of) kind.assign(u(count), 0);
  for (int s = 0; s < stages; ++s)
    for (int k = count - 1; k >= 0; --k) {
      auto& tail = tails[u(s)];
      const auto time = times_of(problem, s);
      tail.of[kW][u(k)] = (count - 1 - k) * time[kW];
      tail.of[kB][u(k)] = (count - 1 - k) * time[kB] + (count - k) * time[kW];
      if (k + 1 < count) tail.of[kB][u(k)] = std::max(tail.of[kB][u(k)], time[kB] + tail.of[kB][u(k + 1)]);
      if (s > 0)
        tail.of[kB][u(k)] = std::max(tail.of[kB][u(k)], problem.delay[u(s - 1)] + problem.backward[u(s - 1)] +
                                                            tails[u(s - 1)].of[kB][u(k)]);
    }
  for (int s = stages - 1; s >= 0; --s)
    for (int k = count - 1; k >= 0; --k) {
      auto& tail = tails[u(s)];
      const auto time = times_of(problem, s);
      Time& forward = tail.of[kF][u(k)];
      forward = std::max((count - 1 - k) * time[kF] + (count - k) * (time[kB] + time[kW]),
                         time[kB] + tail.of[kB][u(k)]);
      if (k + 1 < count) forward = std::max(forward, time[kF] + tail.of[kF][u(k + 1)]);
      if (s + 1 < stages)
        forward =
            std::max(forward, problem.delay[u(s)] + problem.forward[u(s + 1)] + tails[u(s + 1)].of[kF][u(k)]);
    }
  return tails;
}

Time preemptive_bound(std::vector<ExactJob>& jobs) {
  std::sort(jobs.begin(), jobs.end(), [](const ExactJob& a, const ExactJob& b) { return a.head < b.head; });
  std::priority_queue<std::pair<Time, Time>> waiting;
  Time now = 0, bound = 0;
  for (std::size_t next = 0; next < jobs.size() || !waiting.empty();) {
    if (waiting.empty()) now = std::max(now, jobs[next].head);
    for (; next < jobs.size() && jobs[next].head <= now; ++next)
      waiting.emplace(jobs[next].tail, jobs[next].time);
    auto [longest, left] = waiting.top();
    waiting.pop();
    const Time until = next < jobs.size() ? std::min(now + left, jobs[next].head) : now + left;
    left -= until - now;
    now = until;
    if (left > 0)
      waiting.emplace(longest, left);
    else
      bound = std::max(bound, now + longest);
  }
  return bound;
}

}  // namespace tenax::parallel
