// How every call of CUDA, cuBLASLt and cuDNN is checked: one macro per library, which quotes the call.
//
// They throw Error(rank): a failed call is a fault of this rank's GPU, driver or memory. The libraries' own
// headers stay out of here, so that a kernel's file need not read them.
#pragma once

#include <cuda_runtime_api.h>

namespace tenax::kernels::cuda {

[[noreturn]] void throw_cuda(cudaError_t status, const char* call);

inline void check_cuda(cudaError_t status, const char* call) {
  if (status != cudaSuccess) throw_cuda(status, call);
}
/// `status`: a cublasStatus_t, a cudnnStatus_t, a CUresult.
void check_cublas(int status, const char* call);
void check_cudnn(int status, const char* call);
void check_driver(int status, const char* call);

/// After each kernel launch; `kernel` is its name. Says what was wrong with the launch, or with anything
/// before it that broke the device: what happens inside kernels is seen by a later call.
void check_launch(const char* kernel);

}  // namespace tenax::kernels::cuda

#define TENAX_CUDA_CHECK(call) ::tenax::kernels::cuda::check_cuda((call), #call)
#define TENAX_CUBLAS_CHECK(call) ::tenax::kernels::cuda::check_cublas(static_cast<int>(call), #call)
#define TENAX_CUDNN_CHECK(call) ::tenax::kernels::cuda::check_cudnn(static_cast<int>(call), #call)
#define TENAX_DRIVER_CHECK(call) ::tenax::kernels::cuda::check_driver(static_cast<int>(call), #call)
