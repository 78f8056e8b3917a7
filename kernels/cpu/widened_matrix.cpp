#include "kernels/cpu/widened_matrix.hpp"

#include <algorithm>
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

}  // namespace

MatrixView WidenedMatrix::dense(std::int64_t rows, std::int64_t columns) {
  numbers_.reserve(rows * columns);
  return {numbers_.data(), DType::f32, rows, columns, columns, false};
}

MatrixView WidenedMatrix::widen(const MatrixView& view, ThreadTeam* team) {
  const MatrixView from = stored(view), to = dense(from.rows, from.columns);
  const std::int64_t rows = kNumbersOfItem / std::clamp<std::int64_t>(from.columns, 1, kNumbersOfItem);
  const std::int64_t items = (from.rows + rows - 1) / rows;
  const auto convert = [&](std::int64_t item, int) {
    const std::int64_t begin = item * rows, count = std::min(rows, from.rows - begin);
    cpu_loops().convert_to_fp32(from.rows_part(begin, count), to.rows_part(begin, count));
  };
  if (team)
    team->run(items, team->size(), convert);
  else
    for (std::int64_t item = 0; item < items; ++item) convert(item, 0);
  return {to.data, DType::f32, view.rows, view.columns, to.row_stride, view.transposed};
}

}  // namespace tenax::kernels
