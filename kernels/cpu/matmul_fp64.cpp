#include "kernels/cpu/matmul_fp64.hpp"

#include <algorithm>
#include <vector>

namespace tenax::kernels {
namespace {

constexpr std::int64_t kBlock = 64;  // a block of b, 32 KiB, stays in the first cache

void start_row(double* c, std::int64_t columns, bool accumulate, const double* bias) {
  if (!accumulate) std::fill(c, c + columns, 0.0);
  if (!bias) return;
  for (std::int64_t j = 0; j < columns; ++j) c[j] += bias[j];
}

// Copies rows [row, row + rows) and columns [column, column + columns) to a dense block of row stride kBlock.
void pack(const MatrixView& view, std::int64_t row, std::int64_t rows, std::int64_t column,
          std::int64_t columns, double* block) {
  const auto* data = static_cast<const double*>(view.data);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      block[i * kBlock + j] = view.transposed ? data[(column + j) * view.row_stride + row + i]
                                              : data[(row + i) * view.row_stride + column + j];
}

void multiply_block(const double* a, const double* b, double* c, std::int64_t c_stride, std::int64_t m,
                    std::int64_t n, std::int64_t k) {
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t l = 0; l < k; ++l) {
      const double factor = a[i * kBlock + l];
#pragma omp simd
      for (std::int64_t j = 0; j < n; ++j) c[i * c_stride + j] += factor * b[l * kBlock + j];
    }
}

}  // namespace

void multiply_fp64(const MatrixView& a, const MatrixView& b, const MatrixView& c, bool accumulate,
                   const double* bias) {
  auto* out = static_cast<double*>(c.data);
  for (std::int64_t i = 0; i < c.rows; ++i) start_row(out + i * c.row_stride, c.columns, accumulate, bias);
  std::vector<double> a_block(kBlock * kBlock), b_block(kBlock * kBlock);
  for (std::int64_t l = 0; l < a.columns; l += kBlock) {
    const std::int64_t k = std::min(kBlock, a.columns - l);
    for (std::int64_t j = 0; j < c.columns; j += kBlock) {
      const std::int64_t n = std::min(kBlock, c.columns - j);
      pack(b, l, k, j, n, b_block.data());
      for (std::int64_t i = 0; i < c.rows; i += kBlock) {
        const std::int64_t m = std::min(kBlock, c.rows - i);
        pack(a, i, m, l, k, a_block.data());
        multiply_block(a_block.data(), b_block.data(), out + i * c.row_stride + j, c.row_stride, m, n, k);
      }
    }
  }
}

}  // namespace tenax::kernels
