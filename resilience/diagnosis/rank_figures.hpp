// RankFigures: what one rank measured of its own parts in an iteration; and RankReport, with which
// a rank tells what has become of them.
#pragma once

#include <array>
#include <span>

namespace tenax::resilience {

/// Of one iteration, mostly seconds; 0 where the rank has no such part.
struct RankFigures {
  double compute_s = 0;  ///< in passes, without the collectives of the tensor group that they wait for
  /// In collectives of the tensor group and of the data group: from when this rank was ready until
  /// it had the result. So a rank that comes last has the time of the transfer alone. While several
  /// are under way at once, time counts once.
  double tensor_s = 0, data_s = 0;
  double tensor_bytes = 0, data_bytes = 0;  ///< what those collectives were over
  double data_messages = 0;                 ///< that those of the data group send over an edge of a ring
  /// The delay of a message from the stage before, and after. Not measured in every iteration: a
  /// median is over those in which it was.
  double activations_s = 0, gradients_s = 0;
  /// 1 where no message was noticed promptly (LinkMeasurement::at_most): the delay is that or less.
  double activations_at_most = 0, gradients_at_most = 0;
  /// That a thread of the rank was ready to run, but the processor was others': of the thread that
  /// had to wait longest. 0 where the processor does not compute.
  double preempted_s = 0;
  /// What the device told of itself (kernels::DeviceReading); `has_reading` is 1 where it told anything,
  /// and a median is over those iterations. A reason is 1 where the device was throttled for it.
  double has_reading = 0, sm_clock_mhz = 0, temperature_c = 0;
  double software_thermal = 0, hardware_thermal = 0, power_cap = 0, hardware_slowdown = 0, power_brake = 0;

  bool operator==(const RankFigures&) const = default;
};

/// A figure as it is since the slowdown began, and as it was before: medians over iterations.
struct RankReport {
  RankFigures now, healthy;
  bool operator==(const RankReport&) const = default;
};

/// All of RankFigures, in one order.
inline constexpr std::array kRankFigures = {
    &RankFigures::compute_s,         &RankFigures::tensor_s,      &RankFigures::data_s,
    &RankFigures::tensor_bytes,      &RankFigures::data_bytes,    &RankFigures::data_messages,
    &RankFigures::activations_s,     &RankFigures::gradients_s,   &RankFigures::activations_at_most,
    &RankFigures::gradients_at_most, &RankFigures::preempted_s,   &RankFigures::has_reading,
    &RankFigures::sm_clock_mhz,      &RankFigures::temperature_c, &RankFigures::software_thermal,
    &RankFigures::hardware_thermal,  &RankFigures::power_cap,     &RankFigures::hardware_slowdown,
    &RankFigures::power_brake};
static_assert(sizeof(RankFigures) == kRankFigures.size() * sizeof(double));

/// Those of the device's readings, `has_reading` among them.
inline constexpr auto kReadingFigures = std::span(kRankFigures).last<8>();

/// Some message's delay has not been measured since the slowdown began, which was before.
inline bool lacks_delays(const RankReport& report) {
  return (report.now.activations_s == 0 && report.healthy.activations_s > 0) ||
         (report.now.gradients_s == 0 && report.healthy.gradients_s > 0);
}

}  // namespace tenax::resilience
