// UsualStep: what a step of a run of replicas takes while nothing disturbs it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "resilience/detection/sorted_values.hpp"

namespace tenax::resilience {

/// Steps are compared by the largest share of one replica, in samples: replicas compute theirs at the
/// same time. The usual time is the least median of 32 steps in a row, or of all where there are fewer:
/// a run that has become slow is measured by what it was. One thread.
class UsualStep {
 public:
  /// An undisturbed step.
  void add(std::int64_t largest_share, double seconds);
  /// For a share that no such step had, in proportion to the nearest. Nothing before the first step.
  std::optional<double> seconds(std::int64_t largest_share) const;

 private:
  struct Level {
    SlidingMedian recent{32};
    std::optional<double> least_s;
  };
  std::map<std::int64_t, Level> level_of_share_;
};

}  // namespace tenax::resilience
