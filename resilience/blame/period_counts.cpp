#include "resilience/blame/period_counts.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace tenax::resilience {
namespace {

using Trail = std::span<const TrailOperation>;

/// Operations of the channel in the last step that is known from its beginning to its end; 0: there is none.
std::int64_t per_step(Trail trail, const TrailOperation& at) {
  if (trail.front().step >= at.step - 1) return 0;  // that step may have begun earlier
  return std::count_if(trail.begin(), trail.end(), [&](const TrailOperation& operation) {
    return operation.channel == at.channel && operation.step == at.step - 1;
  });
}

/// The `count`-th of the channel before `from`.
std::optional<std::size_t> earlier(Trail trail, std::size_t from, std::int64_t count) {
  const int channel = trail[from].channel;
  for (std::size_t i = from; i > 0; --i)
    if (trail[i - 1].channel == channel && --count == 0) return i - 1;
  return {};
}

}  // namespace

std::vector<PeriodCounts> period_counts(Trail trail, std::size_t at, int channels) {
  std::vector<PeriodCounts> counts(static_cast<std::size_t>(channels));
  if (at >= trail.size()) return counts;
  const std::int64_t period = per_step(trail, trail[at]);
  if (period == 0) return counts;
  const auto middle = earlier(trail, at, period);
  const auto begin = middle ? earlier(trail, *middle, period) : std::nullopt;
  if (!begin) return counts;
  for (PeriodCounts& count : counts) count = {0, 0};
  for (std::size_t i = *begin + 1; i <= at; ++i) {
    if (trail[i].channel < 0 || trail[i].channel >= channels) continue;
    PeriodCounts& count = counts[static_cast<std::size_t>(trail[i].channel)];
    ++(i <= *middle ? count.before : count.last);
  }
  return counts;
}

}  // namespace tenax::resilience
