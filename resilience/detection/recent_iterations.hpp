// RecentIterations: the last iterations of a run, by their number in it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace tenax::resilience {

/// Numbers count the iterations that were added, from 0. One thread.
class RecentIterations {
 public:
  void add(std::int64_t iteration, double x);

  /// How many have been added.
  std::int64_t count() const { return count_; }
  /// The number of the oldest one that is remembered.
  std::int64_t oldest() const { return count_ < kRemembered ? 0 : count_ - kRemembered; }
  /// The iteration that `number` had, which is remembered.
  std::int64_t iteration(std::int64_t number) const { return entry(number).iteration; }
  /// The values from `number` on, which is remembered. Valid until the next call.
  std::span<const double> values_from(std::int64_t number);

 private:
  static constexpr std::int64_t kRemembered = 128;

  struct Entry {
    std::int64_t iteration = 0;
    double x = 0;
  };

  const Entry& entry(std::int64_t number) const;

  std::array<Entry, kRemembered> ring_;
  std::int64_t count_ = 0;
  std::vector<double> values_;
};

}  // namespace tenax::resilience
