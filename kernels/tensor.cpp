#include "kernels/tensor.hpp"

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

}  // namespace tenax::kernels
