// Optimizers on the GPU: an update of many stretches of parameters in few launches, each element in
// one pass over memory.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/cuda/stochastic_rounding.hpp"
#include "kernels/kernels.hpp"

namespace tenax::kernels::cuda {

/// Kernels::update_coefficients.
void update_coefficients(cudaStream_t stream, const UpdateCoefficientsArgs& args);

/// Kernels::adamw and Kernels::lion. A launch takes up to 58 stretches; its blocks have 1024
/// elements each. Accesses are of 16 bytes where all tensors of a stretch are aligned for it. An
/// element moves 30 bytes with AdamW and 22 with Lion (fp32 state with a bf16 copy).
void adamw(cudaStream_t stream, const UpdateArgs& args, const UpdateRounding& rounding);
void lion(cudaStream_t stream, const UpdateArgs& args, const UpdateRounding& rounding);

}  // namespace tenax::kernels::cuda
