// The calls that only the driver's own interface has. They are looked up when a device is created: an
// executable that was linked with libcuda would not start on machines without a driver.
#pragma once

#include <cudaTypedefs.h>

namespace tenax::kernels::cuda {

struct DriverCalls {
  PFN_cuStreamWriteValue32_v11070 write_value = nullptr;
  PFN_cuStreamWaitValue32_v11070 wait_value = nullptr;
};

/// Throws Error(rank) naming the function that the driver lacks.
DriverCalls find_driver_calls();

}  // namespace tenax::kernels::cuda
