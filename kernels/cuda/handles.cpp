#include "kernels/cuda/handles.hpp"

#include "kernels/cuda/check.hpp"

namespace tenax::kernels::cuda {

OwnedEvent create_event(unsigned flags) {
  cudaEvent_t event = nullptr;
  TENAX_CUDA_CHECK(cudaEventCreateWithFlags(&event, flags));
  return OwnedEvent(event);
}

OwnedStream create_stream() {
  cudaStream_t stream = nullptr;
  TENAX_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return OwnedStream(stream);
}

}  // namespace tenax::kernels::cuda
