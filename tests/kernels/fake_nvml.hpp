// An NVML of one GPU, "0000:3b:00.0", to be loaded in place of the driver's; tests set what it tells.
#pragma once

namespace tenax::kernels::cuda::test {

struct FakeNvml {
  int status = 0;  ///< what each call but the first returns
  int initialized = 0;
  unsigned sm_clock_mhz = 1755, max_sm_clock_mhz = 1980, temperature_c = 61;
  unsigned long long reasons = 0;
};

}  // namespace tenax::kernels::cuda::test

/// The state of the library that is loaded.
extern "C" tenax::kernels::cuda::test::FakeNvml* fake_nvml();
