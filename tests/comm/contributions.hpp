// What the ranks of a test bring to a sum, and what must come out: the sum in rank order, bit by bit.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "comm/communicator.hpp"

namespace tenax::comm {

/// Numbers of very different size, so that another order of summation gives other bits.
inline double contribution_value(int rank, std::int64_t index, int seed) {
  std::uint64_t x = (static_cast<std::uint64_t>(index) * 1000003 + static_cast<std::uint64_t>(rank)) * 31 +
                    static_cast<std::uint64_t>(seed);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  x ^= x >> 31;
  const double unit = static_cast<double>(x >> 11) / 9007199254740992.0 - 0.5;
  return unit * static_cast<double>(1 << (x % 12));
}

/// Round to nearest even by the definition: the nearer neighbour, the even one in the middle.
inline std::uint16_t reference_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t down = bits & 0xffff0000U, rest = bits & 0xffffU;
  const bool up = rest > 0x8000U || (rest == 0x8000U && (down & 0x10000U) != 0);
  return static_cast<std::uint16_t>((down >> 16) + (up ? 1 : 0));
}

template <class T>
struct Element;
template <>
struct Element<float> {
  static constexpr kernels::DType dtype = kernels::DType::f32;
  using Sum = float;
  static float store(double x) { return static_cast<float>(x); }
  static float load(float x) { return x; }
};
template <>
struct Element<double> {
  static constexpr kernels::DType dtype = kernels::DType::f64;
  using Sum = double;
  static double store(double x) { return x; }
  static double load(double x) { return x; }
};
template <>
struct Element<kernels::bf16_t> {
  static constexpr kernels::DType dtype = kernels::DType::bf16;
  using Sum = float;
  static kernels::bf16_t store(double x) { return {reference_bf16(static_cast<float>(x))}; }
  static float load(kernels::bf16_t x) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
  }
};

template <class T>
std::vector<T> contribution(int rank, std::int64_t elements, int seed) {
  std::vector<T> values;
  values.reserve(static_cast<std::size_t>(elements));
  for (std::int64_t i = 0; i < elements; ++i)
    values.push_back(Element<T>::store(contribution_value(rank, i, seed)));
  return values;
}

template <class T>
std::vector<T> reduced(int ranks, std::int64_t elements, int seed, ReduceOp op) {
  std::vector<T> result;
  result.reserve(static_cast<std::size_t>(elements));
  for (std::int64_t i = 0; i < elements; ++i) {
    auto sum = Element<T>::load(Element<T>::store(contribution_value(0, i, seed)));
    for (int rank = 1; rank < ranks; ++rank) {
      const auto x = Element<T>::load(Element<T>::store(contribution_value(rank, i, seed)));
      if (op == ReduceOp::sum)
        sum = sum + x;
      else
        sum = x > sum ? x : sum;
    }
    result.push_back(Element<T>::store(sum));
  }
  return result;
}

/// Index of the first element whose bits differ, or -1.
template <class T>
std::int64_t first_difference(const T* got, const T* expected, std::int64_t elements) {
  for (std::int64_t i = 0; i < elements; ++i)
    if (std::memcmp(got + i, expected + i, sizeof(T)) != 0) return i;
  return -1;
}

template <class T>
kernels::Tensor tensor_of(std::vector<T>& values) {
  return {values.data(), Element<T>::dtype, {static_cast<std::int64_t>(values.size())}};
}

}  // namespace tenax::comm
