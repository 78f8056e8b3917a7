#include "kernels/cpu/fp32_matrix.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/cpu/cpu_loops.hpp"

namespace tenax::kernels {
namespace {

constexpr std::int64_t kNumbersOfItem = std::int64_t{1} << 16;  // some 10 us

/// As it lies in memory.
MatrixView stored(MatrixView view) {
  if (view.transposed) std::swap(view.rows, view.columns);
  view.transposed = false;
  return view;
}

void copy_rows(const MatrixView& from, const MatrixView& to) {
  if (from.dtype == DType::bf16) return cpu_loops().convert_to_fp32(from, to);
  assert(from.dtype == DType::f32);
  for (std::int64_t row = 0; row < to.rows; ++row)
    std::memcpy(to.rows_part(row, 1).data, from.rows_part(row, 1).data,
                static_cast<std::size_t>(to.columns) * sizeof(float));
}

}  // namespace

std::int64_t stride_across_sets(std::int64_t columns) {
  constexpr std::int64_t kLine = 64 / sizeof(float);
  return ((columns + kLine - 1) / kLine | 1) * kLine;
}

MatrixView Fp32Matrix::with_stride(std::int64_t rows, std::int64_t columns, std::int64_t stride) {
  numbers_.reserve(rows * stride);
  return {numbers_.data(), DType::f32, rows, columns, stride, false};
}

MatrixView Fp32Matrix::dense(std::int64_t rows, std::int64_t columns) {
  return with_stride(rows, columns, columns);
}

MatrixView Fp32Matrix::copy(const MatrixView& view, ThreadTeam* team) {
  const MatrixView from = stored(view);
  const MatrixView to =
      with_stride(from.rows, from.columns, view.transposed ? from.columns : stride_across_sets(from.columns));
  const std::int64_t rows = kNumbersOfItem / std::clamp<std::int64_t>(from.columns, 1, kNumbersOfItem);
  const std::int64_t items = (from.rows + rows - 1) / rows;
  const auto copy_item = [&](std::int64_t item, int) {
    const std::int64_t begin = item * rows, count = std::min(rows, from.rows - begin);
    copy_rows(from.rows_part(begin, count), to.rows_part(begin, count));
  };
  if (team)
    team->run(items, team->size(), copy_item);
  else
    for (std::int64_t item = 0; item < items; ++item) copy_item(item, 0);
  return {to.data, DType::f32, view.rows, view.columns, to.row_stride, view.transposed};
}

}  // namespace tenax::kernels
