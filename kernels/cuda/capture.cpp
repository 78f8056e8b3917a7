#include "kernels/cuda/capture.hpp"

#include "kernels/cuda/check.hpp"

namespace tenax::kernels::cuda {

unsigned long long capture_of(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  TENAX_CUDA_CHECK(cudaStreamGetCaptureInfo(stream, &status, &id));
  return status == cudaStreamCaptureStatusNone ? 0 : id + 1;  // CUDA may number from 0
}

}  // namespace tenax::kernels::cuda
