// Names, numbers and signatures are those of nvml.h. A function returns 0 where it succeeds.
#include "kernels/cuda/nvml.hpp"

#include <array>
#include <utility>

namespace tenax::kernels::cuda {
namespace {

constexpr unsigned kSmClock = 1;         // NVML_CLOCK_SM
constexpr unsigned kGpuTemperature = 0;  // NVML_TEMPERATURE_GPU

// nvmlClocksEventReason…; others say that it idles, that its clocks are set, or that they follow another GPU's.
constexpr std::array kMaskOfThrottle = {
    std::pair{0x04ULL, Throttle::power_cap}, std::pair{0x08ULL, Throttle::hardware_slowdown},
    std::pair{0x20ULL, Throttle::software_thermal}, std::pair{0x40ULL, Throttle::hardware_thermal},
    std::pair{0x80ULL, Throttle::power_brake}};

ThrottleSet throttles_of(unsigned long long mask) {
  ThrottleSet set;
  for (const auto& [bit, reason] : kMaskOfThrottle)
    if ((mask & bit) != 0) set.add(reason);
  return set;
}

// The first of the names that the library has.
template <class Function>
Function find(const SharedLibrary& library, std::initializer_list<const char*> names) {
  for (const char* const name : names)
    if (void* const function = library.function_if_there(name)) return reinterpret_cast<Function>(function);
  return nullptr;
}

std::string failed(const char* call, int status) {
  return std::string(call) + " returns " + std::to_string(status);
}

}  // namespace

SharedLibrary nvml_library() { return {"NVML", "libnvidia-ml.so.1", "libnvidia-ml.so"}; }

NvmlDevice::NvmlDevice(const SharedLibrary& library, const std::string& bus_id) {
  const std::string obstacle = open(library, bus_id);
  if (!obstacle.empty()) note_ = "clock and temperature of the GPU are not recorded: " + obstacle;
}

// Returns why nothing can be read. The library stays in use until the process ends.
std::string NvmlDevice::open(const SharedLibrary& library, const std::string& bus_id) {
  const auto initialize = find<int (*)()>(library, {"nvmlInit_v2"});
  const auto find_device = find<int (*)(const char*, Handle*)>(library, {"nvmlDeviceGetHandleByPciBusId_v2"});
  if (!initialize || !find_device) return "the driver's NVML (libnvidia-ml.so.1) is not to be found";
  if (const int status = initialize(); status != 0) return failed("nvmlInit_v2", status);
  if (const int status = find_device(bus_id.c_str(), &device_); status != 0)
    return failed("nvmlDeviceGetHandleByPciBusId_v2", status);
  clock_ = find<GetNumber>(library, {"nvmlDeviceGetClockInfo"});
  max_clock_ = find<GetNumber>(library, {"nvmlDeviceGetMaxClockInfo"});
  temperature_ = find<GetNumber>(library, {"nvmlDeviceGetTemperature"});
  reasons_ = find<GetMask>(
      library, {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  max_clock_mhz_ = number(max_clock_, kSmClock);
  return read() ? "" : "NVML tells neither of this one";
}

std::optional<DeviceReading> NvmlDevice::read() const {
  const DeviceReading reading{.sm_clock_mhz = number(clock_, kSmClock),
                              .max_sm_clock_mhz = max_clock_mhz_,
                              .temperature_c = number(temperature_, kGpuTemperature),
                              .throttled_by = throttles_of(reasons())};
  if (reading.sm_clock_mhz <= 0 && reading.temperature_c <= 0) return std::nullopt;
  return reading;
}

double NvmlDevice::number(GetNumber get, unsigned kind) const {
  unsigned number = 0;
  return device_ && get && get(device_, kind, &number) == 0 ? number : 0.0;
}

unsigned long long NvmlDevice::reasons() const {
  unsigned long long mask = 0;
  return device_ && reasons_ && reasons_(device_, &mask) == 0 ? mask : 0;
}

}  // namespace tenax::kernels::cuda
