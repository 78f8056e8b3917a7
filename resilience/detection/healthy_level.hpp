// HealthyLevel: what an iteration takes when nothing is slow, and drifts away from it.
#pragma once

#include <optional>

#include "resilience/detection/change.hpp"
#include "resilience/detection/sorted_values.hpp"

namespace tenax::resilience {

/// Levels are natural logarithms of seconds. Changes that are each below the threshold may add up
/// to a slowdown; that shows against the best level that there was. One thread.
class HealthyLevel {
 public:
  /// `threshold`: the difference of levels from which on iterations are slow.
  explicit HealthyLevel(double threshold) : threshold_(threshold) {}

  void add(double x);
  /// A change from `before` to `after` has been told.
  void change(double before, double after);
  /// The program has changed what an iteration takes; settle() says to what, once that is known.
  void begin_level(ExpectedLevel expected);
  void settle(double level);

  bool is_slow() const { return slow_.has_value(); }
  bool is_above(double level) const { return healthy_ && level - *healthy_ >= threshold_; }
  /// The last values are within 2 % of healthy().
  bool is_at_best() const;
  /// The least median of 32 values in a row while healthy.
  std::optional<double> healthy() const { return healthy_; }
  /// What a drift shows against: while slow the level last told, else healthy().
  std::optional<double> reference() const { return is_slow() ? slow_ : healthy_; }
  /// The median of the last kRecent values, once there are as many.
  static constexpr int kRecent = 12;
  std::optional<double> recent() const;

 private:
  double threshold_;
  SlidingMedian recent_{kRecent}, calm_{32};
  std::optional<double> healthy_, slow_;
  bool is_rough_ = false;  // the slow level was told from few values, and awaits 32
};

}  // namespace tenax::resilience
