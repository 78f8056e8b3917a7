// Attention by own kernels, for what cuDNN does not take: fp32, fp64, and odd head sizes and lengths in bf16.
//
// Plain fused multiply-adds in fp32 (fp64 for fp64), everything in shared memory: right to the last bits, and
// a tenth of the speed of tensor cores.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/cuda/workspace.hpp"
#include "kernels/kernels.hpp"

namespace tenax::kernels::cuda {

/// Deterministic. Throw Error(usage) where a head is too big for the shared memory of a block: beyond 128
/// numbers of fp64, 256 of the others.
void own_attention_forward(cudaStream_t stream, const AttentionForwardArgs& args);
void own_attention_backward(cudaStream_t stream, const AttentionBackwardArgs& args, Workspace& workspace);

}  // namespace tenax::kernels::cuda
