// FAKE_NVML_IS_OLD: of a driver that says "throttle reasons" where newer ones say "event reasons". FAKE_NVML_IS_SMALL: of one
// that lacks all but the temperature.
#include "tests/kernels/fake_nvml.hpp"

#include <cstring>

using tenax::kernels::cuda::test::FakeNvml;

extern "C" {

FakeNvml* fake_nvml() {
  static FakeNvml library;
  return &library;
}

int nvmlInit_v2() {
  ++fake_nvml()->initialized;
  return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
  constexpr int kNotFound = 6;
  if (std::strcmp(bus_id, "0000:3b:00.0") != 0) return kNotFound;
  *device = fake_nvml();
  return 0;
}

int nvmlDeviceGetTemperature(void* device, unsigned sensor, unsigned* temperature) {
  if (device != fake_nvml() || sensor != 0) return 2;
  *temperature = fake_nvml()->temperature_c;
  return fake_nvml()->status;
}

#ifndef FAKE_NVML_IS_SMALL
int nvmlDeviceGetClockInfo(void* device, unsigned kind, unsigned* clock) {
  if (device != fake_nvml() || kind != 1) return 2;
  *clock = fake_nvml()->sm_clock_mhz;
  return fake_nvml()->status;
}

int nvmlDeviceGetMaxClockInfo(void* device, unsigned kind, unsigned* clock) {
  if (device != fake_nvml() || kind != 1) return 2;
  *clock = fake_nvml()->max_sm_clock_mhz;
  return fake_nvml()->status;
}

#ifdef FAKE_NVML_IS_OLD
#define nvmlDeviceGetCurrentClocksEventReasons nvmlDeviceGetCurrentClocksThrottleReasons
#endif
int nvmlDeviceGetCurrentClocksEventReasons(void* device, unsigned long long* reasons) {
  if (device != fake_nvml()) return 2;
  *reasons = fake_nvml()->reasons;
  return fake_nvml()->status;
}
#endif

}  // extern "C"
