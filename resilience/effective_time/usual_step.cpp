#include "resilience/effective_time/usual_step.hpp"

#include <algorithm>
#include <cstdlib>

namespace tenax::resilience {

void UsualStep::add(std::int64_t largest_share, double seconds) {
  Level& level = level_of_share_[largest_share];
  level.recent.add(seconds);
  if (!level.recent.is_full()) return;
  const double median_s = level.recent.median();
  level.least_s = std::min(level.least_s.value_or(median_s), median_s);
}

std::optional<double> UsualStep::seconds(std::int64_t largest_share) const {
  if (level_of_share_.empty()) return std::nullopt;
  const auto nearest =
      std::min_element(level_of_share_.begin(), level_of_share_.end(), [&](const auto& a, const auto& b) {
        return std::abs(a.first - largest_share) < std::abs(b.first - largest_share);
      });
  const Level& level = nearest->second;
  return level.least_s.value_or(level.recent.median()) * static_cast<double>(largest_share) /
         static_cast<double>(nearest->first);
}

}  // namespace tenax::resilience
