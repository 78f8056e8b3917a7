// Element types inside loops: loading, storing, and choosing a loop by DType. What is constexpr runs
// on GPUs too.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/tensor.hpp"

namespace tenax::kernels {

/// The type in which a T is computed with.
template <class T>
using Accumulator = std::conditional_t<std::is_same_v<T, double>, double, float>;

constexpr double widen(double value) { return value; }
constexpr float widen(float value) { return value; }

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
