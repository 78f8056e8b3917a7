#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <cstdlib>

#include "kernels/cuda/driver_calls.hpp"
#include "kernels/cuda_device.hpp"

namespace tenax::kernels {
namespace {

/// 13010 -> "13.1"
std::string cuda_version(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

std::string three_numbers(int major, int minor, int patch) {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

/// cudaErrorInsufficientDriver says both that there is none and that it is too old.
std::string reason_of_driver() {
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess || version == 0)
    return "no NVIDIA driver on this machine";
  return "the NVIDIA driver of this machine is for CUDA " + cuda_version(version) +
         ", this build needs one for CUDA " + cuda_version(CUDART_VERSION) + " or newer";
}

std::string reason_of(cudaError_t status) {
  if (status == cudaErrorInsufficientDriver) return reason_of_driver();
  if (status != cudaErrorNoDevice && status != cudaSuccess)
    return std::string("the NVIDIA driver of this machine does not start: ") + cudaGetErrorString(status);
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES"))
    return std::string("no GPU is left visible by CUDA_VISIBLE_DEVICES=\"") + visible + "\"";
  return "the NVIDIA driver of this machine sees no GPU";
}

}  // namespace

CudaPresence cuda_presence() {
  cuda::ask_for_connections();
  int devices = 0;  // left alone where there is no driver
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status == cudaSuccess && devices > 0) return {devices, ""};
  cudaGetLastError();  // an answer, not an error
  return {0, reason_of(status)};
}

std::string cuda::library_versions() {
  return "cuBLASLt " + std::to_string(cublasLtGetVersion()) + ", cuDNN " + std::to_string(cudnnGetVersion());
}

std::string cuda_versions() {
  return "CUDA " + cuda_version(CUDART_VERSION) + ", cuBLASLt " +
         three_numbers(CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH) + ", cuDNN " +
         three_numbers(CUDNN_MAJOR, CUDNN_MINOR, CUDNN_PATCHLEVEL);
}

}  // namespace tenax::kernels
