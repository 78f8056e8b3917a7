#include "kernels/tensor.hpp"

#include "kernels/device.hpp"

namespace tenax::kernels {

const char* name_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "fp32";
    case DType::bf16:
      return "bf16";
    case DType::f64:
      return "fp64";
    case DType::i32:
      return "int32";
  }
  assert(false && "a DType has one of the four values");
  return "";
}

std::string Shape::to_string() const {
  std::string text = "[";
  for (int axis = 0; axis < rank_; ++axis) text += (axis ? ", " : "") + std::to_string(extents_[axis]);
  return text + "]";
}

Tensor Buffer::tensor(DType dtype, Shape shape, std::size_t byte_offset) const {
  auto* const begin = static_cast<std::byte*>(data());
  const Tensor view{begin ? begin + byte_offset : nullptr, dtype, shape};
  assert(byte_offset % bytes_of(dtype) == 0 && byte_offset + view.bytes() <= bytes());
  return view;
}

}  // namespace tenax::kernels
