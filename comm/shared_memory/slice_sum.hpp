// Sums over the contributions of ranks that share memory, in plain loops that the compiler vectorises.
#pragma once

#include <cstdint>
#include <span>

#include "comm/communicator.hpp"

namespace tenax::comm {

/// destination[i] = c_0[i] op c_1[i] op …, in the order of `contributions`; bf16 sums are formed in fp32 and
/// rounded once (to nearest even). `destination` may be one of the contributions, and `copy` (optional) gets
/// the same bits.
void reduce_slices(kernels::DType dtype, ReduceOp op, std::span<const void* const> contributions,
                   void* destination, void* copy, std::int64_t elements);

}  // namespace tenax::comm
