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

// Where 2^n, for n the integer nearest to x/ln 2, has an exponent field of 0 (and is then taken for 0) to
// 254.
inline constexpr float kLowestExponent = -88.02969f, kHighestExponent = 88.37626f;

/// exp(x) within 1 ulp for x in [kLowestExponent, kHighestExponent], 0 where it is no normal number; NaN for
/// NaN. exp(x) = 2^n · exp(r), so |r| <= ln(2)/2, and a polynomial for exp(r) (coefficients: Cephes' expf).
inline float exponential_in_range(float x) {
  constexpr float kLog2E = 1.44269504f, kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  // Between 2^23 and 2^24 the spacing of floats is 1: adding this rounds to an integer and leaves n + 127 in
  // the low bits, which is the exponent field of 2^n.
  constexpr float kRound = 12582912.0f + 127.0f;
  const float shifted = multiply_add(x, kLog2E, kRound);
  const float n = shifted - kRound;
  const float r = multiply_add(n, -kLn2Low, multiply_add(n, -kLn2High, x));
  float p = 1.9875691500e-4f;
  p = multiply_add(p, r, 1.3981999507e-3f);
  p = multiply_add(p, r, 8.3334519073e-3f);
  p = multiply_add(p, r, 4.1665795894e-2f);
  p = multiply_add(p, r, 1.6666665459e-1f);
  p = multiply_add(p, r, 5.0000001201e-1f);
  const float power_of_two = std::bit_cast<float>(std::bit_cast<std::uint32_t>(shifted) << 23);
  return multiply_add(multiply_add(p, r * r, r), power_of_two, power_of_two);
}

/// exp(x) for x <= 0 (or slightly above), as in a softmax; 0 below the normal numbers; NaN for NaN.
/// No branch and no call: these vectorise wherever they are used, which std::exp does not.
inline float exponential_up_to_one(float x) {
  return exponential_in_range(x < kLowestExponent ? kLowestExponent : x);
}

/// exp(x) for any x: at most about 2.4e38; 0 below the normal numbers. NaN gives anything where NaN is
/// compiled out.
inline float exponential(float x) {
  const float not_too_low = x < kLowestExponent ? kLowestExponent : x;
  return exponential_in_range(not_too_low > kHighestExponent ? kHighestExponent : not_too_low);
}

/// fp64 serves tests of gradients: exact rather than fast.
inline double exponential(double x) { return std::exp(x); }
inline double exponential_up_to_one(double x) { return std::exp(x); }

}  // namespace tenax::kernels
