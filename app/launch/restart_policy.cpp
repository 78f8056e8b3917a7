#include "app/launch/restart_policy.hpp"

#include <algorithm>
#include <cmath>

namespace tenax::app {

// What dies before it commits dies again, most likely: the second such start waits 1 s, the next ones twice as long each.
std::optional<double> RestartPolicy::on_death() const {
  constexpr double kLongest_s = 60;
  if (options_.limit > 0 && starts_in_vain_ >= options_.limit) return {};
  const double backoff_s = starts_in_vain_ == 0 ? 0 : std::min(std::exp2(starts_in_vain_ - 1), kLongest_s);
  return std::max(options_.delay_s, backoff_s);
}

}  // namespace tenax::app
