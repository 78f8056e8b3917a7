// oneDNN's products are made for many rows. For a token of GPT-2 124M they take 1.15 times (fp32) and 2.4 times (bf16) as
// long as those of one row here.
#include "kernels/cpu/matmul_loops.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/cpu/element.hpp"

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

/// Columns of the result that a member of the team computes at a time: the more of a matrix' row are read together, the
/// nearer to memory's pace (two threads on Zen 3, bf16: 61 tokens/s of GPT-2 124M with half of the columns each and 512 at least, 51
/// with a quarter each).
constexpr std::int64_t kMostColumns = 4096, kLeastColumns = 512;

std::int64_t columns_of_item(std::int64_t columns, int members) {
  const std::int64_t wanted = members == 1 ? kMostColumns : (columns / members + 63) / 64 * 64;
  return std::clamp(wanted, kLeastColumns, kMostColumns);
}

template <class T>
struct RowProduct {
  const float* x;     // [inner]
  const T *w, *bias;  // bias may be null
  std::int64_t inner, columns;
};

/// Numbers in a word of memory. Two bf16 are taken apart by a shift and a mask, in half the instructions that widening takes.
template <class T>
constexpr std::int64_t kLanes = sizeof(std::uint32_t) / sizeof(T);
static_assert(std::endian::native == std::endian::little, "the first number of a word is in its lower half");

template <class T>
float number_at(const T* row, std::int64_t word, int lane) {
  std::uint32_t bits;
  std::memcpy(&bits, row + word * kLanes<T>, sizeof bits);
  if constexpr (kLanes<T> == 2) bits = lane == 0 ? bits << 16 : bits & 0xffff0000u;
  return std::bit_cast<float>(bits);
}

/// Four rows of a matrix that are read together: far apart, so that each is a sequence to the processor, which fetches it in
/// advance. Of neighbours, several share a page, and it sees none (Zen 3: 8 to 13 GB/s in bf16 instead of 12 to 16).
template <class T>
struct FourRows {
  float sum(std::int64_t word, int lane) const {
    return (x[0] * number_at(w[0], word, lane) + x[1] * number_at(w[1], word, lane)) +
           (x[2] * number_at(w[2], word, lane) + x[3] * number_at(w[3], word, lane));
  }
  const T* w[4];
  float x[4];
};

/// sums[c] = Σ x[k] · w[k][begin + c]: rows k, k + inner / 4 and so on at a time.
template <class T>
void add_rows(const RowProduct<T>& op, std::int64_t begin, std::int64_t count, float* sums) {
  float lanes[kLanes<T>][kMostColumns / kLanes<T>] = {};
  float *const first = lanes[0], *const last = lanes[kLanes<T> - 1];
  const std::int64_t words = count / kLanes<T>, quarter = op.inner / 4;
  const auto row = [&](std::int64_t k) { return op.w + k * op.columns + begin; };
  for (std::int64_t k = 0; k < quarter; ++k) {
    const std::int64_t k1 = k + quarter, k2 = k1 + quarter, k3 = k2 + quarter;
    const FourRows<T> rows{{row(k), row(k1), row(k2), row(k3)}, {op.x[k], op.x[k1], op.x[k2], op.x[k3]}};
#pragma omp simd
    for (std::int64_t i = 0; i < words; ++i) {
      first[i] += rows.sum(i, 0);
      if constexpr (kLanes<T> == 2) last[i] += rows.sum(i, 1);
    }
  }
  for (std::int64_t k = 4 * quarter; k < op.inner; ++k) {
#pragma omp simd
    for (std::int64_t i = 0; i < words; ++i) {
      first[i] += op.x[k] * number_at(row(k), i, 0);
      if constexpr (kLanes<T> == 2) last[i] += op.x[k] * number_at(row(k), i, 1);
    }
  }
  for (std::int64_t c = 0; c < count; ++c) sums[c] = lanes[c % kLanes<T>][c / kLanes<T>];
}

/// Σ x[k] · w[k] of four rows. `x` has the first numbers of all words before the second ones.
template <class T>
std::array<float, 4> dot(const T* const (&w)[4], const float* x, std::int64_t words) {
  const float *const first = x, *const last = x + (kLanes<T> - 1) * words;
  float a0 = 0, a1 = 0, a2 = 0, a3 = 0, b0 = 0, b1 = 0, b2 = 0, b3 = 0;
#pragma omp simd reduction(+ : a0, a1, a2, a3, b0, b1, b2, b3)
  for (std::int64_t i = 0; i < words; ++i) {
    a0 += first[i] * number_at(w[0], i, 0);
    a1 += first[i] * number_at(w[1], i, 0);
    a2 += first[i] * number_at(w[2], i, 0);
    a3 += first[i] * number_at(w[3], i, 0);
    if constexpr (kLanes<T> == 2) {
      b0 += last[i] * number_at(w[0], i, 1);
      b1 += last[i] * number_at(w[1], i, 1);
      b2 += last[i] * number_at(w[2], i, 1);
      b3 += last[i] * number_at(w[3], i, 1);
    }
  }
  return {a0 + b0, a1 + b1, a2 + b2, a3 + b3};
}

/// sums[c] = Σ x[k] · w[begin + c][k]. Each four rows go through the same loop, so that the bits do not depend on `count`: the last
/// row is taken more than once where four do not divide it.
template <class T>
void dot_rows(const RowProduct<T>& op, std::int64_t begin, std::int64_t count, float* sums) {
  const std::int64_t words = op.inner / kLanes<T>, quarter = (count + 3) / 4;
  for (std::int64_t c = 0; c < quarter; ++c) {
    const T* w[4];
    std::int64_t at[4];
    for (std::int64_t i = 0; i < 4; ++i) {
      at[i] = std::min(c + i * quarter, count - 1);
      w[i] = op.w + (begin + at[i]) * op.inner;
    }
    const std::array<float, 4> dots = dot(w, op.x, words);
    for (std::size_t i = 0; i < 4; ++i) sums[at[i]] = dots[i];
  }
}

/// In fp32; `by_lanes` as dot() wants them.
template <class T>
std::vector<float> widened(const Tensor& row, bool by_lanes) {
  const std::int64_t lanes = by_lanes ? kLanes<T> : 1, words = row.size() / lanes;
  std::vector<float> x(static_cast<std::size_t>(row.size()));
  for (std::int64_t k = 0; k < row.size(); ++k)
    x[static_cast<std::size_t>(k % lanes * words + k / lanes)] = widen(row.as<T>()[k]);
  return x;
}

template <class T, class Out>
void write(const float* sums, const T* bias, std::int64_t count, Out* out) {
  for (std::int64_t c = 0; c < count; ++c) out[c] = narrow<Out>(bias ? sums[c] + widen(bias[c]) : sums[c]);
}

template <class T>
void multiply(const MatmulArgs& args, ThreadTeam& team) {
  const std::vector<float> x = widened<T>(args.a, args.transpose_b);
  const RowProduct<T> op{x.data(), args.b.as<T>(), args.bias ? args.bias.as<T>() : nullptr, args.a.size(),
                         args.c.size()};
  const int members = team.members_for(static_cast<std::int64_t>(args.b.bytes()));
  const std::int64_t width = columns_of_item(op.columns, members);
  team.run((op.columns + width - 1) / width, members, [&](std::int64_t item, int) {
    float sums[kMostColumns];
    const std::int64_t begin = item * width, count = std::min(width, op.columns - begin);
    if (args.transpose_b)
      dot_rows(op, begin, count, sums);
    else
      add_rows(op, begin, count, sums);
    const T* const bias = op.bias ? op.bias + begin : nullptr;
    if (args.c.dtype == DType::f32)
      write(sums, bias, count, args.c.as<float>() + begin);
    else
      write(sums, bias, count, args.c.as<bf16_t>() + begin);
  });
}

}  // namespace

void convert_to_fp32(const MatrixView& from, const MatrixView& to) {
  for (std::int64_t i = 0; i < to.rows; ++i) {
    const bf16_t* source = static_cast<const bf16_t*>(from.data) + i * from.row_stride;
    float* target = static_cast<float*>(to.data) + i * to.row_stride;
#pragma omp simd
    for (std::int64_t j = 0; j < to.columns; ++j) target[j] = widen(source[j]);
  }
}

void round_to_bf16(const MatrixView& from, const MatrixView& to) {
  for (std::int64_t i = 0; i < to.rows; ++i) {
    const float* source = static_cast<const float*>(from.data) + i * from.row_stride;
    bf16_t* target = static_cast<bf16_t*>(to.data) + i * to.row_stride;
#pragma omp simd
    for (std::int64_t j = 0; j < to.columns; ++j) target[j] = to_bf16(source[j]);
  }
}

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

void multiply_row(const MatmulArgs& args, ThreadTeam& team) {
  assert(is_row_product(args) && args.b.size() == args.a.size() * args.c.size() &&
         args.b.dtype == args.a.dtype);
  if (args.a.dtype == DType::f32)
    multiply<float>(args, team);
  else
    multiply<bf16_t>(args, team);
}

}  // namespace tenax::kernels
