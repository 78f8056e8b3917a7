// Layer norm on the GPU: kernels.hpp says what each operation computes.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/cuda/workspace.hpp"
#include "kernels/kernels.hpp"

namespace tenax::kernels::cuda {

void layernorm_forward(cudaStream_t stream, const LayerNormForwardArgs& args);
void residual_layernorm_forward(cudaStream_t stream, const ResidualLayerNormForwardArgs& args);
void layernorm_backward(cudaStream_t stream, const LayerNormBackwardArgs& args, Workspace& workspace);

}  // namespace tenax::kernels::cuda
