// Linked in place of tenax_kernels_cuda: whole runs with device.kind = "cuda" on the stand-in.
// TENAX_STAND_IN_JITTER_US, TENAX_STAND_IN_MEMORY_KIB: as in StandInOptions. It always tells a clock and a temperature.
#include <cstdlib>

#include "kernels/cuda_device.hpp"
#include "tests/kernels/async/stand_in.hpp"

namespace tenax::kernels {

CudaPresence cuda_presence() { return {1, {}}; }

std::string cuda_versions() { return "stand-in"; }

std::unique_ptr<Device> create_cuda_device(const CudaOptions& options) {
  constexpr std::size_t kKiB = 1024;
  const auto setting = [](const char* name) {
    const char* const text = std::getenv(name);
    return text ? std::atoi(text) : 0;
  };
  return test::create_stand_in(
      {.jitter_us = setting("TENAX_STAND_IN_JITTER_US"),
       .seed = options.seed,
       .memory_bytes = kKiB * static_cast<std::size_t>(setting("TENAX_STAND_IN_MEMORY_KIB")),
       .reading = DeviceReading{
           .sm_clock_mhz = 1755, .max_sm_clock_mhz = 1980, .temperature_c = 61, .throttled_by = {}}});
}

}  // namespace tenax::kernels
