// ChangeCheck: whether the values before and after a place differ by as much as a change must.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace tenax::resilience {

/// A new level has at least so many values, and two changes that are closer than so many are one.
inline constexpr std::size_t kLeastAfter = 3, kLeastApart = 8;

struct CheckedChange {
  std::size_t place = 0;         ///< the first value of the new level
  double before = 0, after = 0;  ///< the levels
};

/// The change at `place` in `values`, natural logarithms of seconds, if the levels before and after
/// it differ by `threshold`. A level is the mean of the values near their median: of few values it
/// is closer to the truth than the median, and spikes are out of it. Up to two spikes right at the
/// place are left to the level before. As long as the new level has fewer than kLeastApart values
/// they must agree with each other and leave no doubt. Takes kLeastAfter values after the place, and
/// at least as many before.
std::optional<CheckedChange> check_change(std::span<const double> values, std::size_t place,
                                          double threshold);

}  // namespace tenax::resilience
