#pragma once

#include <cuda_runtime_api.h>

namespace tenax::kernels::cuda {

/// The capture that `stream` takes part in, a number that no other capture of this process has; 0 for none.
unsigned long long capture_of(cudaStream_t stream);

inline bool is_captured(cudaStream_t stream) { return capture_of(stream) != 0; }

}  // namespace tenax::kernels::cuda
