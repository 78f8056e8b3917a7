// RandomTimes: seeded random times, the same on every machine.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

namespace tenax::app {

/// The standard fixes the generator, and not what its distributions make of it. One thread.
class RandomTimes {
 public:
  explicit RandomTimes(std::uint64_t seed) : generator_(seed) {}

  /// In [0, 1).
  double uniform() { return static_cast<double>(generator_() >> 11) * 0x1p-53; }
  /// Until something that happens once in `mean_s` on the average, whatever has been before.
  double exponential(double mean_s) { return -mean_s * std::log1p(-uniform()); }
  /// 0 … `count` − 1.
  int below(int count) { return static_cast<int>(uniform() * count); }

 private:
  std::mt19937_64 generator_;
};

}  // namespace tenax::app
