#include "resilience/detection/level_split.hpp"

#include <cassert>
#include <limits>

namespace tenax::resilience {

std::size_t LevelSplitter::best(std::span<const double> values, std::size_t first) {
  assert(0 < first && first < values.size());
  deviation_before_.assign(1, 0);
  sorted_.clear();
  for (const double value : values) {
    deviation_before_.push_back(deviation_before_.back() + sorted_.deviation_of(value));
    sorted_.insert(value);
  }
  sorted_.clear();
  double least = std::numeric_limits<double>::infinity(), deviation_after = 0;
  std::size_t place = first;
  for (std::size_t i = values.size(); i-- > first;) {
    deviation_after += sorted_.deviation_of(values[i]);
    sorted_.insert(values[i]);
    if (deviation_before_[i] + deviation_after > least) continue;
    least = deviation_before_[i] + deviation_after;
    place = i;
  }
  return place;
}

}  // namespace tenax::resilience
