#pragma once

#include <cuda_runtime_api.h>

#include <memory>

namespace tenax::kernels::cuda {

/// A failure to destroy has been, or will be, reported by another call.
struct DestroyHandle {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};
using OwnedStream = std::unique_ptr<CUstream_st, DestroyHandle>;
using OwnedEvent = std::unique_ptr<CUevent_st, DestroyHandle>;

/// On the device that is current. flags: cudaEventDefault keeps times, cudaEventDisableTiming does not. The
/// stream waits for no other but by events (non-blocking, in CUDA's words).
OwnedEvent create_event(unsigned flags);
OwnedStream create_stream();

}  // namespace tenax::kernels::cuda
