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
/// Plain arithmetic: it vectorises wherever it is called, which std::exp does not.
inline float exponential(float x) {
  constexpr float kLowest = -87.33654f, kHighest = 88.37626f;  // n stays within the exponent's -126 … 127
  constexpr float kLog2E = 1.44269504f, kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  const float low_clamped = x < kLowest ? kLowest : x;
  const float clamped = low_clamped > kHighest ? kHighest : low_clamped;
  const float scaled = clamped * kLog2E;
  const auto n = static_cast<std::int32_t>(scaled + std::copysign(0.5f, scaled));
  const auto whole = static_cast<float>(n);
  const float r = multiply_add(whole, -kLn2Low, multiply_add(whole, -kLn2High, clamped));
  float p = 1.9875691500e-4f;
  p = multiply_add(p, r, 1.3981999507e-3f);
  p = multiply_add(p, r, 8.3334519073e-3f);
  p = multiply_add(p, r, 4.1665795894e-2f);
  p = multiply_add(p, r, 1.6666665459e-1f);
  p = multiply_add(p, r, 5.0000001201e-1f);
  const float fraction = multiply_add(p, r * r, r) + 1.0f;
  const float value = fraction * std::bit_cast<float>((n + 127) << 23);
  return x < kLowest ? 0.0f : value;
}

/// fp64 serves tests of gradients: exact rather than fast.
inline double exponential(double x) { return std::exp(x); }

}  // namespace tenax::kernels
