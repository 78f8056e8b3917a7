// Operations on the GPU that treat each element on its own: kernels.hpp says what each computes.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/kernels.hpp"

namespace tenax::kernels::cuda {

void gelu_forward(cudaStream_t stream, const GeluForwardArgs& args);
void gelu_backward(cudaStream_t stream, const GeluBackwardArgs& args);
void residual_add(cudaStream_t stream, const ResidualAddArgs& args);

void zero(cudaStream_t stream, Tensor destination);
/// Between device and pinned host memory in any direction.
void copy(cudaStream_t stream, Tensor source, Tensor destination);
void cast(cudaStream_t stream, Tensor source, Tensor destination);
void add(cudaStream_t stream, Tensor source, Tensor destination);
void maximum(cudaStream_t stream, Tensor source, Tensor destination);

}  // namespace tenax::kernels::cuda
