// The exponential inside vectorised loops.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace tenax::kernels {

/// a·b + c with one rounding where the processor has it; elsewhere two, and never reassociated.
inline float multiply_add(float a, float b, float c) {
#if defined(__FMA__)
  return __builtin_fmaf(a, b, c);
#elif defined(__GNUC__) && !defined(__clang__)
  return __builtin_assoc_barrier(__builtin_assoc_barrier(a * b) + c);
#else
  return a * b + c;
#endif
}

/// Within 1 ulp where exp(x) is a normal number; 0 below; at most about 2.4e38 above; NaN for NaN. exp(x) = 2^n · exp(r)
/// with n the integer nearest to x/ln 2, so |r| <= ln(2)/2, and a polynomial for exp(r) (coefficients: Cephes' expf).
/// No branch and no call: it vectorises wherever it is used, which std::exp does not.
inline float exponential(float x) {
  constexpr float kLowest = -88.02969f, kHighest = 88.37626f;  // so n stays within -127 … 127
  constexpr float kLog2E = 1.44269504f, kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  // Between 2^23 and 2^24 the spacing of floats is 1: adding this rounds to an integer and leaves n + 127 in the low
  // bits, which is the exponent field of 2^n. At n = -127 the field is 0 and so is the factor.
  constexpr float kRound = 12582912.0f + 127.0f;
  const float not_too_low = x < kLowest ? kLowest : x;
  const float clamped = not_too_low > kHighest ? kHighest : not_too_low;
  const float shifted = multiply_add(clamped, kLog2E, kRound);
  const float n = shifted - kRound;
  const float r = multiply_add(n, -kLn2Low, multiply_add(n, -kLn2High, clamped));
  float p = 1.9875691500e-4f;
  p = multiply_add(p, r, 1.3981999507e-3f);
  p = multiply_add(p, r, 8.3334519073e-3f);
  p = multiply_add(p, r, 4.1665795894e-2f);
  p = multiply_add(p, r, 1.6666665459e-1f);
  p = multiply_add(p, r, 5.0000001201e-1f);
  const float power_of_two = std::bit_cast<float>(std::bit_cast<std::uint32_t>(shifted) << 23);
  return multiply_add(multiply_add(p, r * r, r), power_of_two, power_of_two);
}

/// fp64 serves tests of gradients: exact rather than fast.
inline double exponential(double x) { return std::exp(x); }

}  // namespace tenax::kernels
