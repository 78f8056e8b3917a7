#include "resilience/adaptation/delay_estimator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tenax::resilience {
namespace {

using parallel::TransferRecord;

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
void sort_in(const TransferRecord& arrival, const TransferRecord* previous, Delays& delays) {
  const bool found_idle = !previous || previous->end_s <= arrival.begin_s;
  const auto most_since = [&](double start_s) { return std::max(0.0, arrival.end_s - start_s); };
  const auto since = [&](double start_s) {
    const double absent_s = std::min(arrival.absent_s.value_or(arrival.end_s), arrival.end_s);
    return Delay{std::max(0.0, absent_s - start_s), most_since(start_s)};
  };
  if (!arrival.prompt) {
    delays.bounds.push_back(most_since(arrival.started_s.value_or(arrival.begin_s)));
  } else if (arrival.started_s || found_idle) {
    delays.certain.push_back(since(arrival.started_s.value_or(arrival.begin_s)));
  } else if (previous->prompt) {
    delays.following.push_back(since(previous->end_s));
  } else {
    // Queued behind a message that arrived nobody knows when.
    delays.bounds.push_back(most_since(arrival.begin_s));
  }
}

Delays sorted_by_trust(std::span<const TransferRecord> arrivals) {
  std::vector<TransferRecord> in_order(arrivals.begin(), arrivals.end());
  std::sort(in_order.begin(), in_order.end(),
            [](const TransferRecord& a, const TransferRecord& b) { return a.begin_s < b.begin_s; });
  Delays delays;
  const TransferRecord* previous = nullptr;
  for (const TransferRecord& arrival : in_order) {
    sort_in(arrival, previous, delays);
    previous = &arrival;
  }
  return delays;
}

double least_overhead_s(std::span<const TransferRecord> arrivals) {
  double least_s = std::numeric_limits<double>::infinity();
  for (const TransferRecord& arrival : arrivals)
    if (arrival.started_s) least_s = std::min(least_s, std::max(0.0, *arrival.started_s - arrival.begin_s));
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

LinkMeasurement estimate_delay(std::span<const TransferRecord> arrivals, double clock_error_s) {
  LinkMeasurement measurement{.overhead_s = least_overhead_s(arrivals), .error_s = clock_error_s};
  Delays delays = sorted_by_trust(arrivals);
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
