// AdamW on the GPU: the update of consecutive parameters in one pass over memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/kernels.hpp"

namespace tenax::kernels::cuda {

/// Whether the copy in bf16 is rounded at random (stochastic_rounding.hpp) instead of to nearest. Element i of a call
/// draws by (seed, step, first_element + i), its place in the rank's parameters: repeating a run repeats its bits, however
/// a layout cuts these into ranges. Ranks of other parameters draw alike. Each draw is unbiased all the same.
struct AdamWRounding {
  bool stochastic = false;
  std::uint64_t seed = 1;
};

/// Kernels::adamw. 16 bytes at a time where all tensors are aligned for it. Moves 30 bytes an element (fp32 state with a
/// bf16 copy). The coefficients are those of this call: captured in a graph they would stay at this step's.
void adamw(cudaStream_t stream, const AdamWArgs& args, const AdamWRounding& rounding);

}  // namespace tenax::kernels::cuda
