#include "kernels/cuda/check.hpp"
#include "kernels/cuda/driver_calls.hpp"

namespace tenax::kernels::cuda {
namespace {

__global__ void probe() {}

}  // namespace

bool has_kernels_for_current_device() {
  cudaFuncAttributes attributes;
  const cudaError_t status = cudaFuncGetAttributes(&attributes, probe);
  if (status == cudaErrorNoKernelImageForDevice || status == cudaErrorInvalidDeviceFunction) {
    cudaGetLastError();  // an answer, not an error
    return false;
  }
  check_cuda(status, "cudaFuncGetAttributes(&attributes, probe)");
  return true;
}

}  // namespace tenax::kernels::cuda
