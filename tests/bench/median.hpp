// Medians, for benches that repeat what they measure.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

namespace tenax::bench {

/// Of at least one value; of two in the middle, the larger.
inline double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

inline double median_of(int rounds, const std::function<double()>& measure) {
  std::vector<double> values;
  for (int i = 0; i < rounds; ++i) values.push_back(measure());
  return median_of(std::move(values));
}

}  // namespace tenax::bench
