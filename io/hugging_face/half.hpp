// The 16-bit floating-point formats of files, as bits, from and to float. Rounding is to nearest, ties to
// even.
#pragma once

#include <bit>
#include <cstdint>

namespace tenax::io {

inline float float_of_bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

inline std::uint16_t bf16_of_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U)
    return static_cast<std::uint16_t>(bits >> 16 | 0x40U);  // stays a NaN
  return static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

float float_of_half(std::uint16_t bits);
/// Too large a value becomes infinite.
std::uint16_t half_of_float(float value);

}  // namespace tenax::io
