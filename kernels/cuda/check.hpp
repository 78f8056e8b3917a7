// How every call of CUDA, cuBLASLt and cuDNN is checked: one macro per library, which quotes the call.
// Streams and events with an owner.
//
// They throw Error(rank): a failed call is a fault of this rank's GPU, driver or memory. The libraries' own
// headers stay out of here, so that a kernel's file need not read them.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

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

namespace tenax::kernels::cuda {

/// A failure to destroy has been, or will be, reported by another call.
struct DestroyHandle {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};
using OwnedStream = std::unique_ptr<CUstream_st, DestroyHandle>;
using OwnedEvent = std::unique_ptr<CUevent_st, DestroyHandle>;

/// On the device that is current. flags: cudaEventDefault keeps times, cudaEventDisableTiming does not.
inline OwnedEvent create_event(unsigned flags) {
  cudaEvent_t event = nullptr;
  TENAX_CUDA_CHECK(cudaEventCreateWithFlags(&event, flags));
  return OwnedEvent(event);
}

/// On the device that is current. The stream waits for no other but by events (non-blocking, in
/// CUDA's words).
inline OwnedStream create_stream() {
  cudaStream_t stream = nullptr;
  TENAX_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return OwnedStream(stream);
}

}  // namespace tenax::kernels::cuda
