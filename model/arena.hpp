// Arena: carves tensors out of one buffer. Without memory behind it, it only measures: the same
// code plans and allocates.
#pragma once

#include <cstddef>

#include "kernels/device.hpp"

namespace tenax::model {

class Arena {
 public:
  static constexpr std::size_t kAlignment = 64;

  Arena() = default;  ///< measures
  explicit Arena(kernels::Buffer& buffer)
      : base_(static_cast<std::byte*>(buffer.data())), capacity_(buffer.bytes()) {}

  kernels::Tensor take(kernels::DType dtype, kernels::Shape shape) {
    kernels::Tensor tensor{base_ ? base_ + used_ : nullptr, dtype, shape};
    used_ += (tensor.bytes() + kAlignment - 1) / kAlignment * kAlignment;
    assert(!base_ || used_ <= capacity_);
    return tensor;
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* base_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t used_ = 0;
};

}  // namespace tenax::model
