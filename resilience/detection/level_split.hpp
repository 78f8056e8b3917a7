// LevelSplitter: where in a series one level ends and another begins.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "resilience/detection/sorted_values.hpp"

namespace tenax::resilience {

/// Keeps its memory between searches. One thread.
class LevelSplitter {
 public:
  /// The first value of the second part, where `values` are split in two parts with the least sum
  /// of absolute deviations from the parts' medians. Among places from `first` on, 0 < first <
  /// size; of equal ones the first.
  std::size_t best(std::span<const double> values, std::size_t first);

 private:
  SortedValues sorted_;
  std::vector<double> deviation_before_;  // of all values before each place
};

}  // namespace tenax::resilience
