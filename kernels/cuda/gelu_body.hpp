// gelu(x) = x/2 · (1 + tanh u) with u = sqrt(2/π) (x + 0.044715 x³), as x · s with s = 1 / (1 + exp(−2u)),
// and its slope.
#pragma once

#include <cmath>

#include "kernels/cuda/vector16.hpp"

namespace tenax::kernels::cuda {

/// 1 / (1 + exp(z)). T: what the result is rounded to; the GPU's own exponential and division are good for
/// bf16, not more.
template <class T>
TENAX_HOST_DEVICE Accumulator<T> sigmoid_of_minus(Accumulator<T> z) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(T) == 2) return __fdividef(1.0f, 1.0f + __expf(z));
#endif
  return 1 / (1 + std::exp(z));
}

template <class T>
struct Gelu {
  using A = Accumulator<T>;
  static constexpr A kSlope = A(0.79788456080286535588), kCubic = A(0.044715);  ///< kSlope: sqrt(2/π)

  static TENAX_HOST_DEVICE A sigmoid_2u(A x) {
    return sigmoid_of_minus<T>(x * (-2 * kSlope + (-2 * kSlope * kCubic) * (x * x)));
  }
  static TENAX_HOST_DEVICE A value(A x) { return x * sigmoid_2u(x); }
  /// gelu'(x) = s + x · s (1 − s) · 2 du/dx.
  static TENAX_HOST_DEVICE A slope(A x) {
    const A s = sigmoid_2u(x), two_du = 2 * kSlope + (6 * kSlope * kCubic) * (x * x);
    return s + x * s * (1 - s) * two_du;
  }
};

}  // namespace tenax::kernels::cuda
