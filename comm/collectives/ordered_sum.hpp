// The sum over a group's contributions in rank order: c_0 + c_1 + … + c_(n-1), the same bits
// wherever it is formed.
#pragma once

#include <vector>

#include "comm/communicator.hpp"
#include "kernels/kernels.hpp"

namespace tenax::comm {

/// Memory that the sum of `elements` of `dtype` needs beside the contributions.
std::size_t ordered_sum_scratch_bytes(kernels::DType dtype, std::int64_t elements);

/// contributions[own] becomes the sum (or maximum) of all, formed in rank order; the others are
/// scratch afterwards. bf16 is summed in fp32 and rounded once.
void ordered_reduce(kernels::Kernels& kernels, kernels::Stream& stream,
                    const std::vector<kernels::Tensor>& contributions, int own, ReduceOp op,
                    kernels::Buffer& scratch);

}  // namespace tenax::comm
