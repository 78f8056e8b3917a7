// Own kernels beside cuBLASLt's products. All only enqueue, and throw Error(rank) where a launch fails.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/tensor.hpp"

namespace tenax::kernels::cuda {

/// Each row of c = or += bias [columns]; both of one floating-point type, or c fp32 and the bias bf16.
void set_rows_to_bias(cudaStream_t stream, const Tensor& bias, const Tensor& c, bool accumulate);

/// `count` random numbers in [-1, 1) of a floating-point type.
void fill_with_trial_values(cudaStream_t stream, void* data, DType dtype, std::int64_t count,
                            std::uint64_t seed);

/// *sum (device memory) += a checksum of `words` 8-byte words.
void add_checksum(cudaStream_t stream, const void* data, std::int64_t words, std::uint64_t* sum);

}  // namespace tenax::kernels::cuda
