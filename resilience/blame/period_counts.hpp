// PeriodCounts: how many operations of each channel a rank began in the last step, and in the one before: a rank that
// has left one out has one less.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tenax::resilience {

/// An operation that a rank began.
struct TrailOperation {
  int channel = 0;
  std::int64_t step = 0;
};

struct PeriodCounts {
  std::int64_t last = -1, before = -1;  ///< −1: not known
};

/// `trail`: what a rank began, oldest first, as far back as is known. `at`: the index in it of the operation in which
/// the rank stands. A period ends with that one and begins after the same one a step earlier: where it is the k-th of
/// its channel's c in a step, c of them before. For each of `channels`.
std::vector<PeriodCounts> period_counts(std::span<const TrailOperation> trail, std::size_t at, int channels);

}  // namespace tenax::resilience
