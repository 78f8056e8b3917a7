// Bias gradients, and the second stage of every sum down columns.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/cuda/column_sums_body.hpp"
#include "kernels/cuda/workspace.hpp"
#include "kernels/kernels.hpp"

namespace tenax::kernels::cuda {

void bias_gradient(cudaStream_t stream, const BiasGradientArgs& args, Workspace& workspace);

/// `partials` may be the stream's workspace. A: float, double.
template <class A>
void sum_chunks(cudaStream_t stream, const ChunkSums<A>& sums);

}  // namespace tenax::kernels::cuda
