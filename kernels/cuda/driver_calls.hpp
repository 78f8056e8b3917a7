// What is asked of CUDA's driver and runtime besides streams, events, memory and operations.
#pragma once

#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include <functional>
#include <string>

#include "kernels/deadline.hpp"

namespace tenax::kernels::cuda {

/// The calls that only the driver's own interface has. They are looked up when a device is created: an
/// executable that was linked with libcuda would not start on machines without a driver.
struct DriverCalls {
  PFN_cuStreamWriteValue32_v11070 write_value = nullptr;
  PFN_cuStreamWaitValue32_v11070 wait_value = nullptr;
  PFN_cuMemGetHandleForAddressRange_v11070 handle_of_range = nullptr;  ///< null where the driver lacks it
  PFN_cuDeviceGetUuid_v11040 uuid_of_device = nullptr;                 ///< of a MIG slice its own
};

/// Throws Error(rank) naming the function that the driver lacks, where it is needed.
DriverCalls find_driver_calls();

/// The capture that `stream` takes part in, a number that no other capture of this process has; 0 for none.
unsigned long long capture_of(cudaStream_t stream);

inline bool is_captured(cudaStream_t stream) { return capture_of(stream) != 0; }

/// "cuBLASLt 130100, cuDNN 91900": the libraries that are loaded, on which algorithms depend.
std::string library_versions();

/// Asks for 32 queues, the most there can be, by which the host reaches the device, unless the user's
/// environment says otherwise. Streams share these queues, 8 by default. A stream that waits for a flag holds
/// up all that stands behind it in its queue, for ever where the flag is set by something behind it. Call
/// before the process's first call of CUDA.
void ask_for_connections();

/// What a query of an event or a stream says: true, or false for not yet. Throws Error(rank) quoting `call`
/// where the device is broken.
bool passed(cudaError_t status, const char* call);

/// Waits by asking, since CUDA's own waits know no deadline. Throws Error(rank) on expiry, naming the device
/// and `what` it did not pass.
void wait_until(const std::function<bool()>& is_passed, Deadline deadline, const std::string& device,
                const char* what);

/// Named ranges (NVTX) that Nsight Systems shows on the launching thread's line, and over the operations
/// launched within.
void push_range(const char* name);
void pop_range();

/// Whether this build's machine code runs on the device that is current.
bool has_kernels_for_current_device();

}  // namespace tenax::kernels::cuda
