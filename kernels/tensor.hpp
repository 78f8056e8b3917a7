// Tensor: a typed, shaped view of memory that somebody else owns.
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace tenax::kernels {

enum class DType { f32, bf16, f64, i32 };

constexpr std::size_t bytes_of(DType dtype) { return dtype == DType::bf16 ? 2 : dtype == DType::f64 ? 8 : 4; }
const char* name_of(DType dtype);

/// The type in which sums over `compute` values are kept: gradients, statistics, master
/// weights, moments.
constexpr DType accumulation_of(DType compute) { return compute == DType::f64 ? DType::f64 : DType::f32; }

/// bfloat16 as storage: the upper half of a float. Arithmetic happens in float.
struct bf16_t {
  std::uint16_t bits;
};
constexpr float widen(bf16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}
/// Rounds to nearest even; NaN stays NaN, made quiet. Integer arithmetic: it vectorises on any processor. One sum for both cases, of
/// which the upper half is taken last: GCC else narrows numbers early and widens them again [1.4 x the rate with AVX2].
constexpr bf16_t to_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  const std::uint32_t to_nearest = 0x7fffu + ((bits >> 16) & 1u), to_quiet = 0x400000u & ~bits;
  return {static_cast<std::uint16_t>((bits + (is_nan ? to_quiet : to_nearest)) >> 16)};
}

/// Up to four extents, row-major; the last is contiguous.
class Shape {
 public:
  static constexpr int kMaxRank = 4;
  Shape() = default;
  explicit Shape(std::span<const std::int64_t> extents) {
    assert(extents.size() <= kMaxRank);
    for (const std::int64_t extent : extents) extents_[rank_++] = extent;
  }
  Shape(std::initializer_list<std::int64_t> extents) : Shape(std::span(extents.begin(), extents.size())) {}
  int rank() const { return rank_; }
  std::span<const std::int64_t> extents() const { return std::span(extents_).first(rank_); }
  std::int64_t operator[](int axis) const {
    assert(axis >= 0 && axis < rank_);
    return extents_[axis];
  }
  std::int64_t size() const {
    std::int64_t product = 1;
    for (int axis = 0; axis < rank_; ++axis) product *= extents_[axis];
    return product;
  }
  bool operator==(const Shape&) const = default;
  std::string to_string() const;  ///< "[2, 3]"

 private:
  std::array<std::int64_t, kMaxRank> extents_{};
  int rank_ = 0;
};

/// A view: pointer, type, shape. Contiguous, row-major. Owns nothing; the memory must outlive
/// every operation enqueued on it. A default-constructed Tensor means "absent" where an argument
/// is optional.
struct Tensor {
  void* data = nullptr;
  DType dtype = DType::f32;
  Shape shape;

  explicit operator bool() const { return data != nullptr; }
  std::int64_t size() const { return shape.size(); }
  std::size_t bytes() const { return static_cast<std::size_t>(size()) * bytes_of(dtype); }
  /// Extent of the last axis, and the product of all others: how row-wise operations
  /// see any tensor.
  std::int64_t columns() const { return shape[shape.rank() - 1]; }
  std::int64_t rows() const { return columns() == 0 ? 0 : size() / columns(); }
  template <class T>
  T* as() const {
    assert(sizeof(T) == bytes_of(dtype));
    return static_cast<T*>(data);
  }
  /// The same memory under another shape of equal size.
  Tensor reshaped(Shape other) const {
    assert(other.size() == size());
    return {data, dtype, other};
  }
  /// Elements [begin, begin + other.size()) of the flattened tensor, as `other`. What has no data
  /// has none in parts.
  Tensor part(std::int64_t begin, Shape other) const {
    assert(begin >= 0 && begin + other.size() <= size());
    if (!data) return {nullptr, dtype, other};
    return {static_cast<std::byte*>(data) + static_cast<std::size_t>(begin) * bytes_of(dtype), dtype, other};
  }
  std::span<std::byte> raw() const { return {static_cast<std::byte*>(data), bytes()}; }
};

}  // namespace tenax::kernels
