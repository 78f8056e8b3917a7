#include "resilience/adaptation/delay_estimator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tenax::resilience {
namespace {

/// Messages that found the link idle, from which this many suffice for a median.
constexpr std::size_t kEnough = 3;
/// Between the quartiles of a normal distribution, in standard deviations.
constexpr double kQuartileDistance = 1.349;

/// A message's delay lies between the two.
struct Delay {
  double least_s = 0, most_s = 0;
};

/// Delays by how far they can be trusted.
struct Delays {
  std::vector<Delay> certain;    // the start of transmission is known, the arrival was noticed promptly
  std::vector<Delay> following;  // the start follows from the previous message's arrival
  std::vector<double> bounds;    // the arrival was noticed late
};

/// `previous`: the message before on the link; null for the first, which finds the link idle.
void sort_in(const LinkSample& sample, const LinkSample* previous, Delays& delays) {
  const bool found_idle = !previous || previous->arrived_s <= sample.ready_s;
  const auto most_since = [&](double start_s) { return std::max(0.0, sample.arrived_s - start_s); };
  const auto since = [&](double start_s) {
    const double absent_s = std::min(sample.absent_s.value_or(sample.arrived_s), sample.arrived_s);
    return Delay{std::max(0.0, absent_s - start_s), most_since(start_s)};
  };
  if (!sample.prompt) {
    delays.bounds.push_back(most_since(sample.started_s.value_or(sample.ready_s)));
  } else if (sample.started_s || found_idle) {
    delays.certain.push_back(since(sample.started_s.value_or(sample.ready_s)));
  } else if (previous->prompt) {
    delays.following.push_back(since(previous->arrived_s));
  } else {
    // Queued behind a message that arrived nobody knows when.
    delays.bounds.push_back(most_since(sample.ready_s));
  }
}

Delays sorted_by_trust(std::span<const LinkSample> samples) {
  std::vector<LinkSample> in_order(samples.begin(), samples.end());
  std::sort(in_order.begin(), in_order.end(),
            [](const LinkSample& a, const LinkSample& b) { return a.ready_s < b.ready_s; });
  Delays delays;
  const LinkSample* previous = nullptr;
  for (const LinkSample& sample : in_order) {
    sort_in(sample, previous, delays);
    previous = &sample;
  }
  return delays;
}

double least_overhead_s(std::span<const LinkSample> samples) {
  double least_s = std::numeric_limits<double>::infinity();
  for (const LinkSample& sample : samples)
    if (sample.started_s) least_s = std::min(least_s, std::max(0.0, *sample.started_s - sample.ready_s));
  return std::isfinite(least_s) ? least_s : 0;
}

}  // namespace

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (place - static_cast<double>(below));
}

LinkMeasurement estimate_delay(std::span<const LinkSample> samples, double clock_error_s) {
  LinkMeasurement measurement{.overhead_s = least_overhead_s(samples), .error_s = clock_error_s};
  Delays delays = sorted_by_trust(samples);
  std::vector<Delay>& used = delays.certain;
  if (used.size() < kEnough) used.insert(used.end(), delays.following.begin(), delays.following.end());
  measurement.at_most = used.empty() && !delays.bounds.empty();
  if (measurement.at_most) used = {{0, *std::min_element(delays.bounds.begin(), delays.bounds.end())}};
  std::vector<double> least_s, most_s;
  for (const Delay& delay : used) {
    least_s.push_back(delay.least_s);
    most_s.push_back(delay.most_s);
  }
  measurement.samples = static_cast<int>(used.size());
  measurement.delay_s = quantile(most_s, 0.5);
  measurement.late_s = measurement.delay_s - quantile(least_s, 0.5);
  measurement.spread_s = (quantile(most_s, 0.75) - quantile(most_s, 0.25)) / kQuartileDistance;
  return measurement;
}

}  // namespace tenax::resilience
