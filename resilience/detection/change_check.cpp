#include "resilience/detection/change_check.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "resilience/detection/sorted_values.hpp"

namespace tenax::resilience {
namespace {

constexpr std::size_t kMostBefore = 64;
constexpr double kLeastNoise = 0.003;
constexpr double kLoud = 0.01;   // noise of which kLeastAfter values tell a level too roughly
constexpr double kCore = 3;      // a level is the mean of what lies so many noises around the median
constexpr double kFar = 4;       // and what lies farther than this is no part of it
constexpr double kDoubt = 1.25;  // standard error of a median, in noise / sqrt(n)

/// The standard deviation of ordinary values, from the median absolute deviation.
double noise_of(std::span<const double> values, double median) {
  std::vector<double> off;
  for (const double x : values) off.push_back(std::abs(x - median));
  return std::max(kLeastNoise, 1.4826 * median_of(off));
}

double level_of(std::span<const double> values, double median, double noise) {
  double sum = 0;
  int count = 0;
  for (const double x : values) {
    if (std::abs(x - median) > kCore * noise) continue;
    sum += x;
    ++count;
  }
  return count > 0 ? sum / count : median;
}

/// Three agree; of more, all but one.
bool agree(std::span<const double> values, double median, double noise) {
  if (values.size() == kLeastAfter && noise > kLoud) return false;
  const auto far = std::count_if(values.begin(), values.end(),
                                 [&](double x) { return std::abs(x - median) > kFar * noise; });
  return far <= (values.size() > kLeastAfter ? 1 : 0);
}

}  // namespace

std::optional<LevelPair> check_change(std::span<const double> values, std::size_t place, double threshold) {
  assert(place >= kLeastAfter && values.size() - place >= kLeastAfter);
  const std::size_t first = place - std::min(place, kMostBefore);
  const auto before = values.subspan(first, place - first), after = values.subspan(place);
  const double median_before = median_of(before), median_after = median_of(after);
  const double noise = noise_of(before, median_before);
  const LevelPair levels{level_of(before, median_before, noise), level_of(after, median_after, noise)};
  const bool is_early = after.size() < kLeastApart;
  const double doubt = is_early ? kDoubt * noise / std::sqrt(static_cast<double>(after.size())) : 0;
  if (is_early && !agree(after, median_after, noise)) return {};
  if (std::abs(levels.after - levels.before) < threshold + doubt) return {};
  return levels;
}

}  // namespace tenax::resilience
