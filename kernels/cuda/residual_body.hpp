// The residual sum of one pack.
#pragma once

#include "kernels/cuda/vector16.hpp"

namespace tenax::kernels::cuda {

/// x + (delta + bias), as stored: one order and rounding, alone and fused with a norm.
template <class T, int kCount>
TENAX_HOST_DEVICE Raw<T, kCount> residual_sum(const Raw<T, kCount>& x, const Raw<T, kCount>& delta,
                                              const T* bias) {
  auto sum = widened(x);
  const auto d = widened(delta), b = load<kCount>(bias);
  TENAX_UNROLL
  for (int i = 0; i < kCount; ++i) sum.at[i] += d.at[i] + b.at[i];
  return narrowed<T>(sum);
}

}  // namespace tenax::kernels::cuda
