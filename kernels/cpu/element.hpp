// Element types inside loops: loading, storing, and choosing a loop by DType. What is constexpr runs
// on GPUs too.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "kernels/tensor.hpp"

namespace tenax::kernels {

/// The type in which a T is computed with.
template <class T>
using Accumulator = std::conditional_t<std::is_same_v<T, double>, double, float>;

constexpr double widen(double value) { return value; }
constexpr float widen(float value) { return value; }
constexpr float widen(bf16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

/// Rounds to nearest even; NaN stays NaN. Integer arithmetic: it vectorises on any processor, and as fast as
/// the instructions made for it.
constexpr bf16_t to_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const std::uint32_t quiet_nan = (bits >> 16) | 0x40u;
  return {static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet_nan : rounded)};
}

template <class To, class From>
constexpr To narrow(From value) {
  if constexpr (std::is_same_v<To, bf16_t>)
    return to_bf16(static_cast<float>(value));
  else
    return static_cast<To>(value);
}

/// Calls f(T{}) with the element type of a floating-point DType.
template <class Function>
void with_type(DType dtype, const Function& f) {
  switch (dtype) {
    case DType::f32:
      return f(float{});
    case DType::bf16:
      return f(bf16_t{});
    case DType::f64:
      return f(double{});
    case DType::i32:
      break;
  }
  assert(false && "this operation takes fp32, bf16 and fp64");
}

}  // namespace tenax::kernels
