// How a host thread waits for the GPU: by asking, since CUDA's own waits know no deadline.
#pragma once

#include <functional>

#include "kernels/cuda/cuda_context.hpp"
#include "kernels/deadline.hpp"

namespace tenax::kernels::cuda {

/// What a query says: true, false for not yet. Throws Error(rank) quoting `call` where the device is broken.
bool passed(cudaError_t status, const char* call);

/// Throws Error(rank) on expiry, naming the device and `what` it did not pass.
void wait_until(const std::function<bool()>& is_passed, Deadline deadline, const CudaContext& context,
                const char* what);

}  // namespace tenax::kernels::cuda
