// LevelTracker: follows one measured quantity over iterations. It averages noise away, answers a
// clear change at once, and tells a quantity that has moved from one that keeps moving.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>

namespace tenax::resilience {

/// Pure; no clock: an iteration is the unit of time.
class LevelTracker {
 public:
  struct Options {
    std::size_t window = 16;        ///< iterations that are remembered
    std::size_t memory = 8;         ///< iterations that the average forgets over
    std::size_t restless_from = 3;  ///< so many changes within the window: restless
    std::size_t recent = 4;         ///< iterations that tell what a restless quantity does next
    double quantile = 0.5;          ///< the quantile of those values that plans are made for
  };

  explicit LevelTracker(Options options) : options_(options) {}

  /// Takes the value of one iteration, known to `uncertainty`. The level changes when the value is
  /// off by more than `threshold` plus `uncertainty`, or when two values in a row are off by more
  /// than `threshold` on the same side. All else is noise.
  void add(double value, double uncertainty, double threshold);

  bool known() const { return !window_.empty(); }
  /// The average since the last change.
  double level() const { return level_; }
  /// The last add() was a change, and not one of many.
  bool changed() const { return known() && window_.back().change && !restless(); }
  /// The quantity changes so often that the last value says little about the next.
  bool restless() const { return changes_ >= options_.restless_from; }
  /// The value to expect of the next iterations: the level; for a restless quantity the quantile of
  /// its recent values. A level that rises counts at once, one that falls an iteration later: a
  /// plan for too long a delay costs little, a plan for too short a delay costs much.
  double expected() const;
  /// The latest value first, age < telling().
  double value(std::size_t age) const { return window_[window_.size() - 1 - age].value; }
  /// How many values tell what comes next: one, of a restless quantity the recent ones.
  std::size_t telling() const { return restless() ? std::min(options_.recent, window_.size()) : 1; }

 private:
  struct Entry {
    double value = 0;
    bool change = false;
  };

  Options options_;
  std::deque<Entry> window_;
  std::size_t changes_ = 0;  // in the window
  double level_ = 0, previous_level_ = 0;
  std::size_t averaged_ = 0;  // values in the level
  int suspicion_ = 0;         // the side on which the last value was off without being clear
};

}  // namespace tenax::resilience
