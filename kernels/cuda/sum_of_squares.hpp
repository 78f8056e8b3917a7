// The sum of squares on the GPU.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/cuda/workspace.hpp"
#include "kernels/kernels.hpp"

namespace tenax::kernels::cuda {

void sum_of_squares(cudaStream_t stream, const SumOfSquaresArgs& args, Workspace& workspace);

}  // namespace tenax::kernels::cuda
