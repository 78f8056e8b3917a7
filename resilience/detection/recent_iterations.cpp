#include "resilience/detection/recent_iterations.hpp"

#include <cassert>

namespace tenax::resilience {

void RecentIterations::add(std::int64_t iteration, double x) {
  ring_[static_cast<std::size_t>(count_++ % kRemembered)] = {iteration, x};
}

const RecentIterations::Entry& RecentIterations::entry(std::int64_t number) const {
  assert(oldest() <= number && number < count_);
  return ring_[static_cast<std::size_t>(number % kRemembered)];
}

std::span<const double> RecentIterations::values_from(std::int64_t number) {
  values_.clear();
  for (std::int64_t i = number; i < count_; ++i) values_.push_back(entry(i).x);
  return values_;
}

}  // namespace tenax::resilience
