#include "io/checkpoint/outliers.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace tenax::io {
namespace {

constexpr std::uint32_t kSignless = 0x7FFFFFFF;
constexpr int kCountedShift = 16;  // from a float's bits to the place of its count

/// Infinity for what is not finite.
float size_of(float number) {
  return std::isfinite(number) ? std::fabs(number) : std::numeric_limits<float>::infinity();
}

}  // namespace

void SizeCensus::add(std::span<const float> numbers) {
  for (const float number : numbers) {
    largest_ = std::fmax(largest_, size_of(number));
    ++counts_[(std::bit_cast<std::uint32_t>(number) & kSignless) >> kCountedShift];
  }
}

float SizeCensus::median() const {
  constexpr std::size_t kInfinity = 0x7F80;                          // the first that is not finite
  const auto finite = std::span(counts_).subspan(1, kInfinity - 1);  // 0: zero, and what is next to it
  const std::int64_t all = std::accumulate(finite.begin(), finite.end(), std::int64_t{0});
  std::int64_t below = 0;
  for (std::size_t i = 0; i < finite.size(); ++i) {
    below += finite[i];
    if (below > 0 && 2 * below >= all)
      return std::bit_cast<float>(static_cast<std::uint32_t>(i + 1) << kCountedShift);
  }
  return 0;
}

void OutlierSearch::add(std::span<const float> numbers, std::int64_t first_index) {
  constexpr std::int64_t kGap = 16;  // more between two make them two stretches
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const float size = size_of(numbers[i]);
    if (size <= bound_) continue;
    const std::int64_t at = first_index + static_cast<std::int64_t>(i);
    if (stretches_.empty() || at - stretches_.back().end > kGap) stretches_.push_back({.begin = at});
    stretches_.back().end = at + 1;
    stretches_.back().largest = std::fmax(stretches_.back().largest, size);
  }
}

float outlier_factor(const std::string& group) {
  constexpr float kFactor = 1e3F;
  return group.ends_with("_sq") ? kFactor * kFactor : kFactor;
}

}  // namespace tenax::io
