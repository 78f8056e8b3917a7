// Attention of one new position on the GPU, over cached keys and values.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/cuda/workspace.hpp"
#include "kernels/kernels.hpp"

namespace tenax::kernels::cuda {

/// Deterministic. Heads of up to 256 numbers, as own_attention_forward takes them (where the text has begun).
void attention_decode(cudaStream_t stream, const AttentionDecodeArgs& args, Workspace& workspace);

}  // namespace tenax::kernels::cuda
