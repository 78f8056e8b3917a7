// Trials of cuDNN's candidates for one operation, as matrix products have them (matmul_search.hpp).
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>

#include "kernels/cuda/cudnn_attention_plans.hpp"

namespace tenax::kernels::cuda {

/// The number of the fastest of `plans` (at least one), by the least of several runs; with `same_bits` of those that write
/// what the first writes, which shows in bf16 numbers by the million. A plan that does not run counts as none. Without
/// TrialMemory it is the first. Waits for `stream`; throws Error(rank) where that takes longer than a minute.
std::size_t best_plan(cudaStream_t stream, std::span<const CudnnPlan> plans, bool same_bits,
                      const CudnnTrial& trial);

}  // namespace tenax::kernels::cuda
