// Values: test data of any floating type, read and written as double.
#pragma once

#include <cstring>
#include <vector>

#include "kernels/tensor.hpp"

namespace tenax::kernels {

/// `count` numbers in [-1, 1) that depend on (seed, index) alone, rounded to `dtype`. Owns them.
class Values {
 public:
  Values(DType dtype, std::int64_t count, std::uint64_t seed)
      : dtype_(dtype), bytes_(count * bytes_of(dtype)) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::uint64_t bits = (static_cast<std::uint64_t>(i) + seed * 0x632BE59BD9B4E019u) * 0x9E3779B97F4A7C15u;
      bits = (bits ^ (bits >> 32)) * 0xD6E8FEB86659FD93u;
      set(i, static_cast<double>(bits >> 11) * 0x1p-52 - 1.0);
    }
  }
  double operator[](std::int64_t i) const {
    if (dtype_ == DType::f64) return load<double>(i);
    if (dtype_ == DType::f32) return load<float>(i);
    const std::uint32_t bits = static_cast<std::uint32_t>(load<std::uint16_t>(i)) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  void set(std::int64_t i, double value) {
    if (dtype_ == DType::f64) return store(i, value);
    const float single = static_cast<float>(value);
    if (dtype_ == DType::f32) return store(i, single);
    std::uint32_t bits;
    std::memcpy(&bits, &single, sizeof bits);
    store(i, static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1)) >> 16));
  }
  Tensor tensor(Shape shape) const { return {const_cast<std::byte*>(bytes_.data()), dtype_, shape}; }
  std::int64_t size() const { return static_cast<std::int64_t>(bytes_.size() / bytes_of(dtype_)); }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  template <class T>
  T load(std::int64_t i) const {
    T value;
    std::memcpy(&value, bytes_.data() + i * static_cast<std::int64_t>(sizeof(T)), sizeof value);
    return value;
  }
  template <class T>
  void store(std::int64_t i, T value) {
    std::memcpy(bytes_.data() + i * static_cast<std::int64_t>(sizeof(T)), &value, sizeof value);
  }
  DType dtype_;
  std::vector<std::byte> bytes_;
};

}  // namespace tenax::kernels
