#include "resilience/diagnosis/throttling.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tenax::resilience {
namespace {

using kernels::Throttle;

constexpr double kLowerClock = 0.95;  // of a healthy one: medians differ by less under one load

constexpr std::array kFigureOfThrottle = {
    std::pair{Throttle::software_thermal, &RankFigures::software_thermal},
    std::pair{Throttle::hardware_thermal, &RankFigures::hardware_thermal},
    std::pair{Throttle::power_cap, &RankFigures::power_cap},
    std::pair{Throttle::hardware_slowdown, &RankFigures::hardware_slowdown},
    std::pair{Throttle::power_brake, &RankFigures::power_brake}};
static_assert(kFigureOfThrottle.size() == kernels::kThrottles.size());

kernels::ThrottleSet reasons_of(const RankFigures& medians) {
  kernels::ThrottleSet reasons;
  for (const auto& [reason, figure] : kFigureOfThrottle)
    if (medians.*figure > 0) reasons.add(reason);
  return reasons;
}

}  // namespace

void add_reading(RankFigures& figures, const kernels::DeviceReading& reading) {
  figures.has_reading = 1;
  figures.sm_clock_mhz = reading.sm_clock_mhz;
  figures.temperature_c = reading.temperature_c;
  for (const auto& [reason, figure] : kFigureOfThrottle)
    figures.*figure = reading.throttled_by.has(reason) ? 1 : 0;
}

std::optional<Throttling> find_throttling(const RankReport& report) {
  const RankFigures &now = report.now, &healthy = report.healthy;
  if (now.has_reading == 0 || healthy.has_reading == 0) return std::nullopt;
  const kernels::ThrottleSet reasons = reasons_of(now), usual = reasons_of(healthy);
  const bool has_new_reason = std::ranges::any_of(
      kernels::kThrottles, [&](Throttle reason) { return reasons.has(reason) && !usual.has(reason); });
  const bool is_lower = now.sm_clock_mhz > 0 && now.sm_clock_mhz < kLowerClock * healthy.sm_clock_mhz;
  if (!has_new_reason && !is_lower) return std::nullopt;
  return Throttling{.clock_mhz = now.sm_clock_mhz,
                    .healthy_clock_mhz = healthy.sm_clock_mhz,
                    .temperature_c = now.temperature_c,
                    .by = reasons};
}

}  // namespace tenax::resilience
