#include "resilience/adaptation/level_tracker.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "resilience/adaptation/delay_estimator.hpp"

namespace tenax::resilience {

void LevelTracker::add(double value, double uncertainty, double threshold) {
  const double off = value - level_;
  const bool first = window_.empty(), far = !first && std::abs(off) > threshold;
  const int side = !far ? 0 : off > 0 ? 1 : -1;
  const bool change = far && (std::abs(off) - uncertainty > threshold || side == suspicion_);
  previous_level_ = level_;
  if (first || change) {
    level_ = value;
    averaged_ = 1;
    if (first) previous_level_ = value;
  } else if (!far) {
    averaged_ = std::min(averaged_ + 1, options_.memory);
    level_ += off / static_cast<double>(averaged_);
  }
  suspicion_ = change ? 0 : side;
  window_.push_back({value, change});
  changes_ += change;
  if (window_.size() <= options_.window) return;
  changes_ -= window_.front().change;
  window_.pop_front();
}

double LevelTracker::expected() const {
  if (!restless()) return std::max(level_, previous_level_);
  std::vector<double> values;
  for (std::size_t age = 0; age < telling(); ++age) values.push_back(value(age));
  return quantile(values, options_.quantile);
}

}  // namespace tenax::resilience
