#include "kernels/cuda/driver_calls.hpp"

#include <string>

#include "kernels/cuda/check.hpp"
#include "kernels/error.hpp"

namespace tenax::kernels::cuda {
namespace {

/// 11.7 brought the version of these calls that every device has, without asking for the driver's option.
constexpr unsigned kInterfaceVersion = 11070;

template <class Function>
Function find(const char* name) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  TENAX_CUDA_CHECK(
      cudaGetDriverEntryPointByVersion(name, &address, kInterfaceVersion, cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess || address == nullptr)
    throw Error(Scope::rank, std::string("the NVIDIA driver of this machine has no ") + name +
                                 ": install a newer one, or set device.kind = \"cpu\"");
  return reinterpret_cast<Function>(address);
}

}  // namespace

DriverCalls find_driver_calls() {
  return {find<PFN_cuStreamWriteValue32_v11070>("cuStreamWriteValue32"),
          find<PFN_cuStreamWaitValue32_v11070>("cuStreamWaitValue32")};
}

}  // namespace tenax::kernels::cuda
