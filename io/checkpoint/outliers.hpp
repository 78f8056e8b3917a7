// Outliers: numbers of a checkpoint that are far larger than the others of their tensor, as a
// machine leaves them that computes wrongly (ft-hsdp, section 2.2: 32 consecutive parameters that
// spiked).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tenax::io {

/// How large the numbers of a tensor are: their median to within 1 %, without keeping them.
class SizeCensus {
 public:
  void add(std::span<const float> numbers);
  /// Of |x| over all numbers that are finite and not zero; 0 where there are none.
  float median() const;
  /// Of |x|; infinity where a number is not finite.
  float largest() const { return largest_; }

 private:
  /// By sign-less exponent and seven bits of the mantissa.
  std::array<std::int64_t, 1 << 15> counts_ = {};
  float largest_ = 0;
};

/// Elements [begin, end) of a dataset; of those in between a few may be no larger than usual.
struct OutlierStretch {
  std::int64_t begin = 0, end = 0;
  float largest = 0;  ///< |x|; infinity where one is not finite
  bool operator==(const OutlierStretch&) const = default;
};

/// Collects the stretches of a dataset whose numbers are not finite, or larger than `bound`.
class OutlierSearch {
 public:
  explicit OutlierSearch(float bound) : bound_(bound) {}
  /// The numbers from `first_index` on; those before have been added.
  void add(std::span<const float> numbers, std::int64_t first_index);
  const std::vector<OutlierStretch>& stretches() const { return stretches_; }

 private:
  float bound_;
  std::vector<OutlierStretch> stretches_;
};

/// What a number of that group (io/state_range.hpp) may be times its tensor's median at most: 1e3;
/// of squares the square of that.
float outlier_factor(const std::string& group);

}  // namespace tenax::io
