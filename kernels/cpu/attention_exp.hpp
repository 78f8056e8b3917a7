// The exponential of a softmax, whose arguments are not positive.
#pragma once

#include "kernels/cpu/exponential.hpp"

namespace tenax::kernels {

/// exponential(x) for x ≤ 0 (rounding may leave x slightly above) with half of its comparisons; about 1e-38
/// below -87. NaN for NaN. 0.13 instead of 0.23 ns an element within the backward pass.
inline float exponential_of_nonpositive(float x) {
  const float clamped = x < -87.0f ? -87.0f : x;
  const auto n = static_cast<std::int32_t>(clamped * 1.44269504f - 0.5f);
  const auto whole = static_cast<float>(n);
  const float r = multiply_add(whole, 2.12194440e-4f, multiply_add(whole, -0.693359375f, clamped));
  float p = 1.9875691500e-4f;
  p = multiply_add(p, r, 1.3981999507e-3f);
  p = multiply_add(p, r, 8.3334519073e-3f);
  p = multiply_add(p, r, 4.1665795894e-2f);
  p = multiply_add(p, r, 1.6666665459e-1f);
  p = multiply_add(p, r, 5.0000001201e-1f);
  const float fraction = multiply_add(p, r * r, r) + 1.0f;
  // n is added to the exponent field; unsigned, for scores above the diagonal may be anything before they are
  // masked.
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(fraction) + (static_cast<std::uint32_t>(n) << 23));
}
inline double exponential_of_nonpositive(double x) { return std::exp(x); }

}  // namespace tenax::kernels
