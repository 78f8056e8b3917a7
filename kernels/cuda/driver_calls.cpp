#include "kernels/cuda/driver_calls.hpp"

#include <nvtx3/nvToolsExt.h>

#include <cstdlib>
#include <string>

#include "kernels/cuda/check.hpp"
#include "kernels/error.hpp"

namespace tenax::kernels::cuda {

namespace {

/// 11.7 brought the version of these calls that every device has, without asking for the driver's option.
constexpr unsigned kInterfaceVersion = 11070;

/// Null where the driver lacks it.
template <class Function>
Function find_if_there(const char* name) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  TENAX_CUDA_CHECK(
      cudaGetDriverEntryPointByVersion(name, &address, kInterfaceVersion, cudaEnableDefault, &found));
  return found == cudaDriverEntryPointSuccess ? reinterpret_cast<Function>(address) : nullptr;
}

template <class Function>
Function find(const char* name) {
  const auto function = find_if_there<Function>(name);
  if (!function)
    throw Error(Scope::rank, std::string("the NVIDIA driver of this machine has no ") + name +
                                 ": install a newer one, or set device.kind = \"cpu\"");
  return function;
}

}  // namespace

DriverCalls find_driver_calls() {
  return {find<PFN_cuStreamWriteValue32_v11070>("cuStreamWriteValue32"),
          find<PFN_cuStreamWaitValue32_v11070>("cuStreamWaitValue32"),
          find_if_there<PFN_cuMemGetHandleForAddressRange_v11070>("cuMemGetHandleForAddressRange"),
          find<PFN_cuDeviceGetUuid_v11040>("cuDeviceGetUuid")};
}

unsigned long long capture_of(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  TENAX_CUDA_CHECK(cudaStreamGetCaptureInfo(stream, &status, &id));
  return status == cudaStreamCaptureStatusNone ? 0 : id + 1;  // CUDA may number from 0
}

void ask_for_connections() {
  constexpr int kKeepWhatIsThere = 0;
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", kKeepWhatIsThere);
  setenv("CUDA_DEVICE_MAX_COPY_CONNECTIONS", "32", kKeepWhatIsThere);
}

bool passed(cudaError_t status, const char* call) {
  if (status == cudaErrorNotReady) return false;
  check_cuda(status, call);
  return true;
}

void wait_until(const std::function<bool()>& is_passed, Deadline deadline, const std::string& device,
                const char* what) {
  Backoff backoff;
  while (!is_passed()) {
    if (deadline.expired())
      throw Error(Scope::rank,
                  device + ": gave up waiting for " + what +
                      ": what was enqueued before it has not ended (a message that never came, or "
                      "much work); see this rank's other errors, or raise comm.deadline_s");
    backoff.pause();
  }
}

void push_range(const char* name) { nvtxRangePushA(name); }
void pop_range() { nvtxRangePop(); }

}  // namespace tenax::kernels::cuda
