// SearchRandom: the planner's random numbers: the same on every machine for a seed (splitmix64).
#pragma once

#include <cstdint>

namespace tenax::parallel {

class SearchRandom {
 public:
  explicit SearchRandom(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  /// In 0 … below − 1.
  int below(int below) { return static_cast<int>(next() % static_cast<std::uint64_t>(below)); }
  /// In [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace tenax::parallel
