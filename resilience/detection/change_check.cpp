#include "resilience/detection/change_check.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "resilience/detection/sorted_values.hpp"

namespace tenax::resilience {
namespace {

constexpr std::size_t kMostBefore = 64, kMostSpikes = 2;
constexpr double kLeastNoise = 0.003;
constexpr double kLoud = 0.01;   // noise of which kLeastAfter values tell a level too roughly
constexpr double kNear = 3;      // noises between an ordinary value and its level
constexpr double kSpike = 5;     // noises from which on the first value of a level is a spike before it
constexpr double kDoubt = 1.25;  // standard error of a median, in noise / sqrt(n)

/// The standard deviation of ordinary values, from the median absolute deviation.
double noise_of(std::span<const double> values, double median) {
  std::vector<double> off;
  for (const double x : values) off.push_back(std::abs(x - median));
  return std::max(kLeastNoise, 1.4826 * median_of(off));
}

bool is_near(double x, double level, double noise) { return std::abs(x - level) <= kNear * noise; }

double level_of(std::span<const double> values, double median, double noise) {
  double sum = 0;
  int count = 0;
  for (const double x : values) {
    if (!is_near(x, median, noise)) continue;
    sum += x;
    ++count;
  }
  return count > 0 ? sum / count : median;
}

/// At least kLeastAfter values, less the spikes before them.
std::span<const double> without_first_spikes(std::span<const double> values, double noise) {
  for (std::size_t spikes = 0; spikes < kMostSpikes && values.size() > kLeastAfter; ++spikes) {
    if (std::abs(values.front() - median_of(values)) <= kSpike * noise) break;
    values = values.subspan(1);
  }
  return values;
}

/// Three agree; of more, all but one.
bool agree(std::span<const double> values, double median, double noise) {
  const auto far =
      std::count_if(values.begin(), values.end(), [&](double x) { return !is_near(x, median, noise); });
  return far <= (values.size() > kLeastAfter ? 1 : 0);
}

}  // namespace

std::optional<CheckedChange> check_change(std::span<const double> values, std::size_t place,
                                          double threshold) {
  assert(place >= kLeastAfter && values.size() - place >= kLeastAfter);
  const std::size_t first = place - std::min(place, kMostBefore);
  const auto before = values.subspan(first, place - first);
  const double median_before = median_of(before), noise = noise_of(before, median_before);
  if (values.size() - place == kLeastAfter && noise > kLoud) return {};
  const auto after = without_first_spikes(values.subspan(place), noise);
  const double median_after = median_of(after);
  const CheckedChange change{.place = values.size() - after.size(),
                             .before = level_of(before, median_before, noise),
                             .after = level_of(after, median_after, noise)};
  const bool is_early = after.size() < kLeastApart;
  const double doubt = is_early ? kDoubt * noise / std::sqrt(static_cast<double>(after.size())) : 0;
  if (is_early && !agree(after, median_after, noise)) return {};
  if (std::abs(change.after - change.before) < threshold + doubt) return {};
  return change;
}

}  // namespace tenax::resilience
