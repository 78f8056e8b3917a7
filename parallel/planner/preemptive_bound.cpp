#include "parallel/planner/preemptive_bound.hpp"

#include <algorithm>
#include <queue>
#include <utility>

namespace tenax::parallel {

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

}  // namespace tenax::parallel
