// DeviceReading: what a device tells of itself while it computes: its clock, its temperature, and what holds it back.
#pragma once

#include <array>
#include <cassert>

namespace tenax::kernels {

/// Why a device runs slower than it could. That it has nothing to do, or that a person has set its clocks, is none of these.
enum class Throttle {
  software_thermal,   ///< the driver keeps it from getting too hot
  hardware_thermal,   ///< it is too hot, and slows down by itself
  power_cap,          ///< it would take more than its limit: common where all is well
  hardware_slowdown,  ///< it slows down by itself; usually told with hardware_thermal or power_brake
  power_brake         ///< the machine's power supply asks for it
};
inline constexpr std::array kThrottles = {Throttle::software_thermal, Throttle::hardware_thermal,
                                          Throttle::power_cap, Throttle::hardware_slowdown,
                                          Throttle::power_brake};

/// The word of records: "hardware_thermal".
inline const char* name_of(Throttle reason) {
  switch (reason) {
    case Throttle::software_thermal:
      return "software_thermal";
    case Throttle::hardware_thermal:
      return "hardware_thermal";
    case Throttle::power_cap:
      return "power_cap";
    case Throttle::hardware_slowdown:
      return "hardware_slowdown";
    case Throttle::power_brake:
      return "power_brake";
  }
  assert(false && "no reason");
  return "";
}

/// Several of them, or none.
class ThrottleSet {
 public:
  void add(Throttle reason) { bits_ |= bit(reason); }
  bool has(Throttle reason) const { return (bits_ & bit(reason)) != 0; }
  bool is_empty() const { return bits_ == 0; }
  bool operator==(const ThrottleSet&) const = default;

 private:
  static unsigned bit(Throttle reason) { return 1U << static_cast<unsigned>(reason); }
  unsigned bits_ = 0;
};

/// At one moment. Numbers are 0 where the device does not tell them.
struct DeviceReading {
  double sm_clock_mhz = 0, max_sm_clock_mhz = 0;  ///< of its multiprocessors: now, and the most there can be
  double temperature_c = 0;
  ThrottleSet throttled_by;
};

}  // namespace tenax::kernels
