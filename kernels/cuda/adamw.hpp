// AdamW on the GPU: an update of many stretches of parameters in few launches, each element in one pass over memory.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/cuda/stochastic_rounding.hpp"
#include "kernels/kernels.hpp"

namespace tenax::kernels::cuda {

/// Kernels::adamw_coefficients.
void adamw_coefficients(cudaStream_t stream, const AdamWCoefficientsArgs& args);

/// Kernels::adamw. Up to 58 stretches a launch, whose blocks have 1024 elements each; 16 bytes at a time where all tensors
/// of a stretch are aligned for it. Moves 30 bytes an element (fp32 state with a bf16 copy).
void adamw(cudaStream_t stream, const AdamWArgs& args, const AdamWRounding& rounding);

}  // namespace tenax::kernels::cuda
