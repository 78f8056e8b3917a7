// IEEE 754 binary16: 1 sign, 5 exponent (bias 15) and 10 fraction bits; binary32: 1, 8 (bias 127) and 23.
#include "io/hugging_face/half.hpp"

#include <cmath>

namespace tenax::io {

float float_of_half(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  const std::uint32_t exponent = bits >> 10 & 0x1FU, fraction = bits & 0x3FFU;
  if (exponent == 0) {  // zero, or a subnormal: a multiple of 2^-24
    const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    return sign ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 0x1FU ? 0xFFU : exponent + (127 - 15);
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

std::uint16_t half_of_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return sign | 0x7E00U;   // NaN
  if (magnitude >= 0x477FF000U) return sign | 0x7C00U;  // 65520 and above round to infinity
  if (magnitude < 0x38800000U) {  // below 2^-14: a multiple of 2^-24, rounded by adding 1/2 (ulp 2^-24)
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return sign | static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(shifted) -
                                             std::bit_cast<std::uint32_t>(0.5F));
  }
  const std::uint32_t rounded = magnitude + 0xFFFU + (magnitude >> 13 & 1U);
  return sign | static_cast<std::uint16_t>((rounded - ((127U - 15U) << 23)) >> 13);
}

}  // namespace tenax::io
