// exp for arguments that are not positive, in a form that compilers vectorise.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace tenax::kernels {

/// e^x for x ≤ 0 (rounding may leave it slightly above), within 1 ulp; below -87 the result is about 1e-38.
/// Cody & Waite's reduction to |r| ≤ ln 2 / 2 and the polynomial of Cephes' expf (Moshier).
inline float exp_nonpositive(float x) {
  x = x < -87.0f ? -87.0f : x;
  const int exponent = static_cast<int>(x * 1.44269504f - 0.5f);
  const auto n = static_cast<float>(exponent);
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(p) + (static_cast<std::uint32_t>(exponent) << 23));
}
inline double exp_nonpositive(double x) { return std::exp(x); }

}  // namespace tenax::kernels
