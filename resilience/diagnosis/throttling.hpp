// find_throttling(): whether a rank computes slowly because its device is held back.
#pragma once

#include <optional>

#include "kernels/device_reading.hpp"
#include "resilience/diagnosis/rank_figures.hpp"

namespace tenax::resilience {

/// Medians since the slowdown began. Numbers are 0 where the device does not tell them.
struct Throttling {
  double clock_mhz = 0, healthy_clock_mhz = 0;
  double temperature_c = 0;
  kernels::ThrottleSet by;  ///< what held in half of the iterations or more; empty where no reason is told
};

/// Puts what the device told in an iteration among the rank's figures of it.
void add_reading(RankFigures& figures, const kernels::DeviceReading& reading);

/// A device is throttled when one of two things holds:
///
/// - Its clock is less than 0.95 of what it was while all was well.
/// - A reason holds in half of the slow iterations or more, and did not in half of the healthy ones. So
///   a power limit that always was reached is none.
///
/// Empty where it is not, or where there are readings of only one of the two times. Pure.
std::optional<Throttling> find_throttling(const RankReport& report);

}  // namespace tenax::resilience
