// What runs on the GPU beside cuBLASLt's products.
#pragma once

#include <cstdint>

#include "kernels/cpu/element.hpp"
#include "kernels/cuda/group.hpp"

namespace tenax::kernels::cuda {

/// One row of a product that cuBLASLt cannot add the bias to: row = bias, or row += bias.
template <class Group, class T, class Bias>
TENAX_HOST_DEVICE void bias_row(Group group, const Bias* bias, T* row, std::int64_t columns,
                                bool accumulate) {
  for (std::int64_t j = group.rank(); j < columns; j += group.size()) {
    const Accumulator<T> before = accumulate ? widen(row[j]) : Accumulator<T>(0);
    row[j] = narrow<T>(before + static_cast<Accumulator<T>>(widen(bias[j])));
  }
}

/// Mixes all bits of x into all others.
TENAX_HOST_DEVICE std::uint64_t mixed_bits(std::uint64_t x) {
  x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93u;
  x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93u;
  return x ^ (x >> 32);
}

/// Number `index` of random matrix `seed`, in [-1, 1).
template <class T>
TENAX_HOST_DEVICE T trial_value(std::uint64_t seed, std::int64_t index) {
  const std::uint64_t bits = mixed_bits((seed << 56) + static_cast<std::uint64_t>(index) + 1);
  return narrow<T>(static_cast<float>(bits >> 40) * 0x1p-23f - 1.0f);
}

/// What word `index` adds to a checksum: sums of these, modulo 2^64, are the same in any order.
TENAX_HOST_DEVICE std::uint64_t checksum_of(std::uint64_t word, std::int64_t index) {
  return mixed_bits(word + 0x9E3779B97F4A7C15u * static_cast<std::uint64_t>(index + 1));
}

}  // namespace tenax::kernels::cuda
