#include "resilience/detection/sorted_values.hpp"

#include <algorithm>
#include <cmath>

namespace tenax::resilience {

void SortedValues::insert(double value) {
  values_.insert(std::upper_bound(values_.begin(), values_.end(), value), value);
}

void SortedValues::erase(double value) {
  values_.erase(std::lower_bound(values_.begin(), values_.end(), value));
}

// Between the two in the middle every point is a median; a value there adds nothing.
double SortedValues::deviation_of(double value) const {
  if (values_.empty()) return 0;
  return std::abs(value - std::clamp(value, lower_middle(), upper_middle()));
}

void SlidingMedian::add(double value) {
  if (is_full()) sorted_.erase(ring_[next_]);
  sorted_.insert(value);
  ring_[next_] = value;
  next_ = (next_ + 1) % ring_.size();
}

void SlidingMedian::clear() {
  sorted_.clear();
  next_ = 0;
}

double median_of(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  const auto middle = copy.begin() + static_cast<std::ptrdiff_t>(copy.size() / 2);
  std::nth_element(copy.begin(), middle, copy.end());
  return copy.size() % 2 == 1 ? *middle : (*middle + *std::max_element(copy.begin(), middle)) / 2;
}

double lower_median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double upper_median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace tenax::resilience
