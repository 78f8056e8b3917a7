#include "kernels/cpu/matmul_convert.hpp"

#include "kernels/cpu/element.hpp"

namespace tenax::kernels {
namespace {

template <class From>
void convert_rows(const MatrixView& from, const MatrixView& to) {
  const std::int64_t row_step = from.transposed ? 1 : from.row_stride;
  const std::int64_t column_step = from.transposed ? from.row_stride : 1;
  for (std::int64_t i = 0; i < to.rows; ++i) {
    const From* source = static_cast<const From*>(from.data) + i * row_step;
    float* target = static_cast<float*>(to.data) + i * to.row_stride;
    for (std::int64_t j = 0; j < to.columns; ++j) target[j] = widen(source[j * column_step]);
  }
}

}  // namespace

void convert_to_fp32(const MatrixView& from, const MatrixView& to) {
  if (from.dtype == DType::bf16)
    convert_rows<bf16_t>(from, to);
  else
    convert_rows<float>(from, to);
}

void round_to_bf16(const MatrixView& from, const MatrixView& to) {
  for (std::int64_t i = 0; i < to.rows; ++i) {
    const float* source = static_cast<const float*>(from.data) + i * from.row_stride;
    bf16_t* target = static_cast<bf16_t*>(to.data) + i * to.row_stride;
#pragma omp simd
    for (std::int64_t j = 0; j < to.columns; ++j) target[j] = to_bf16(source[j]);
  }
}

}  // namespace tenax::kernels
