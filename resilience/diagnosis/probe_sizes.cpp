#include "resilience/diagnosis/probe_sizes.hpp"

#include <algorithm>

namespace tenax::resilience {
namespace {

constexpr double kLeastBytes = 1024;
constexpr int kHalvings = 40;

std::vector<double> scaled(std::vector<double> sizes, double factor) {
  for (double& bytes : sizes) bytes = std::max(std::min(bytes, kLeastBytes), bytes * factor);
  return sizes;
}

bool fit(const std::vector<double>& sizes, const ProbeBudget& budget) {
  double seconds = 0;
  for (const double bytes : sizes) seconds += probe_seconds(bytes, budget);
  return seconds <= budget.seconds;
}

/// By bisection: the least size makes the sum no straight line.
double largest_factor(const std::vector<double>& sizes, const ProbeBudget& budget) {
  if (fit(sizes, budget)) return 1;
  double fits = 0, too_large = 1;
  for (int i = 0; i < kHalvings; ++i) {
    const double factor = (fits + too_large) / 2;
    (fit(scaled(sizes, factor), budget) ? fits : too_large) = factor;
  }
  return fits;
}

}  // namespace

double probe_seconds(double bytes, const ProbeBudget& budget) {
  const double moving_s = budget.bytes_per_s > 0 ? bytes / budget.bytes_per_s : 0;
  return budget.rounds * 2 * kProbeTimes * (budget.exchange_s + moving_s);
}

std::vector<std::size_t> probe_sizes(std::span<const double> mb, const ProbeBudget& budget) {
  constexpr double kMegabyte = 1e6;
  std::vector<double> sizes;
  for (const double size : mb) sizes.push_back(size * kMegabyte);
  std::sort(sizes.begin(), sizes.end());
  if (!fit(scaled(sizes, 0), budget)) return {};
  std::vector<std::size_t> bytes;
  for (const double size : scaled(sizes, largest_factor(sizes, budget)))
    bytes.push_back(static_cast<std::size_t>(size));
  return bytes;
}

}  // namespace tenax::resilience
