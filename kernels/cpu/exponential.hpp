// The exponential inside vectorised loops.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace tenax::kernels {

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define TENAX_HAS_FMA 1
#else
#define TENAX_HAS_FMA 0
#endif

/// a·b + c, with one rounding where the processor has that.
inline float multiply_add(float a, float b, float c) {
#if TENAX_HAS_FMA
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

/// x = n · ln 2 + r with n the nearest integer.
struct ExponentAndRest {
  float power_of_two, r;  ///< 2^n, and |r| <= ln(2)/2
};

inline ExponentAndRest split_exponent(float x) {
#if TENAX_HAS_FMA
  constexpr float kLog2E = 1.44269504f, kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  // Between 2^23 and 2^24 the spacing of floats is 1: adding this rounds to an integer and leaves n + 127 in
  // the low bits, which is the exponent field of 2^n. No fused operation is ever reassociated.
  constexpr float kRound = 12582912.0f + 127.0f;
  const float shifted = multiply_add(x, kLog2E, kRound);
  const float n = shifted - kRound;
  return {std::bit_cast<float>(std::bit_cast<std::uint32_t>(shifted) << 23),
          multiply_add(n, -kLn2Low, multiply_add(n, -kLn2High, x))};
#else
  // Products and sums apart may be regrouped by the compiler, which would ruin both tricks above.
  const auto n = static_cast<std::int32_t>(x * 1.44269504f + std::copysign(0.5f, x));
  const double r = static_cast<double>(x) - static_cast<double>(n) * 0.69314718055994530942;
  return {std::bit_cast<float>(static_cast<std::uint32_t>(n + 127) << 23), static_cast<float>(r)};
#endif
}

// Where the exponent field of 2^n is between 0 (which is then taken for the number 0) and 254.
inline constexpr float kLowestExponent = -88.02969f, kHighestExponent = 88.37626f;

/// (exp(r) - 1 - r) / r² for |r| <= ln(2)/2 (coefficients: Cephes' expf).
inline float exponential_tail(float r) {
  float p = 1.9875691500e-4f;
  p = multiply_add(p, r, 1.3981999507e-3f);
  p = multiply_add(p, r, 8.3334519073e-3f);
  p = multiply_add(p, r, 4.1665795894e-2f);
  p = multiply_add(p, r, 1.6666665459e-1f);
  return multiply_add(p, r, 5.0000001201e-1f);
}

/// exp(x) for x in [kLowestExponent, kHighestExponent] within 1 ulp (1.5 without fused multiply-add); 0 where
/// it is no normal number; NaN for NaN. exp(x) = 2^n · exp(r).
inline float exponential_in_range(float x) {
  const auto [power_of_two, r] = split_exponent(x);
  return multiply_add(multiply_add(exponential_tail(r), r * r, r), power_of_two, power_of_two);
}

/// exp(x) for x <= 0 (or slightly above), as in a softmax; 0 below the normal numbers; NaN for NaN. No branch
/// and no call: these vectorise wherever they are used, which std::exp does not.
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

/// exponential(x) for x ≤ 0 (rounding may leave x slightly above) with half of its comparisons; about 1e-38
/// below -87. NaN for NaN. 0.13 instead of 0.23 ns an element within the backward pass.
inline float exponential_of_nonpositive(float x) {
  const float clamped = x < -87.0f ? -87.0f : x;
  const auto n = static_cast<std::int32_t>(clamped * 1.44269504f - 0.5f);
  const auto whole = static_cast<float>(n);
  const float r = multiply_add(whole, 2.12194440e-4f, multiply_add(whole, -0.693359375f, clamped));
  const float fraction = multiply_add(exponential_tail(r), r * r, r) + 1.0f;
  // n is added to the exponent field; unsigned, for scores above the diagonal may be anything before
  // they are masked.
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(fraction) + (static_cast<std::uint32_t>(n) << 23));
}
inline double exponential_of_nonpositive(double x) { return std::exp(x); }

}  // namespace tenax::kernels
