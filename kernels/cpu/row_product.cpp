// oneDNN's products, made for many rows, take longer: 1.15 times (fp32) and 2.4 times (bf16) for a token of GPT-2 124M.
#include "kernels/cpu/row_product.hpp"

#include <algorithm>
#include <vector>

#include "kernels/cpu/element.hpp"

namespace tenax::kernels {
namespace {

/// Columns of the result that a member of the team computes at a time: the more of a matrix' row are read together, the
/// nearer to memory's pace (25 GB/s for 128, 34 for 1024, of 37); but something must be left for the others.
constexpr std::int64_t kMostColumns = 1024, kLeastColumns = 64;

std::int64_t columns_of_item(std::int64_t columns, int members) {
  const std::int64_t wanted = members == 1 ? kMostColumns : columns / (2 * members);
  return std::clamp(wanted / kLeastColumns * kLeastColumns, kLeastColumns, kMostColumns);
}

template <class T>
struct RowProduct {
  const float* x;     // [inner]
  const T *w, *bias;  // bias may be null
  std::int64_t inner, columns;
};

/// sums[c] = Σ x[k] · w[k][begin + c], four rows of w at a time.
template <class T>
void add_rows(const RowProduct<T>& op, std::int64_t begin, std::int64_t count, float* sums) {
  const float* const x = op.x;
  std::int64_t k = 0;
  for (; k + 4 <= op.inner; k += 4) {
    const T *const w0 = op.w + k * op.columns + begin, *const w1 = w0 + op.columns,
                   *const w2 = w1 + op.columns, *const w3 = w2 + op.columns;
    const float x0 = x[k], x1 = x[k + 1], x2 = x[k + 2], x3 = x[k + 3];
#pragma omp simd
    for (std::int64_t c = 0; c < count; ++c)
      sums[c] += (x0 * widen(w0[c]) + x1 * widen(w1[c])) + (x2 * widen(w2[c]) + x3 * widen(w3[c]));
  }
  for (; k < op.inner; ++k) {
    const T* const w = op.w + k * op.columns + begin;
#pragma omp simd
    for (std::int64_t c = 0; c < count; ++c) sums[c] += x[k] * widen(w[c]);
  }
}

/// sums[c] = Σ x[k] · w[begin + c][k].
template <class T>
void dot_rows(const RowProduct<T>& op, std::int64_t begin, std::int64_t count, float* sums) {
  const float* const x = op.x;
  for (std::int64_t c = 0; c < count; ++c) {
    const T* const w = op.w + (begin + c) * op.inner;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t k = 0; k < op.inner; ++k) sum += x[k] * widen(w[k]);
    sums[c] = sum;
  }
}

template <class T, class Out>
void write(const float* sums, const T* bias, std::int64_t count, Out* out) {
  for (std::int64_t c = 0; c < count; ++c) out[c] = narrow<Out>(bias ? sums[c] + widen(bias[c]) : sums[c]);
}

template <class T>
void multiply(const MatmulArgs& args, ThreadTeam& team) {
  std::vector<float> x(static_cast<std::size_t>(args.a.size()));
  for (std::int64_t k = 0; k < args.a.size(); ++k) x[static_cast<std::size_t>(k)] = widen(args.a.as<T>()[k]);
  const RowProduct<T> op{x.data(), args.b.as<T>(), args.bias ? args.bias.as<T>() : nullptr, args.a.size(),
                         args.c.size()};
  const int members = team.members_for(static_cast<std::int64_t>(args.b.bytes()));
  const std::int64_t width = columns_of_item(op.columns, members);
  team.run((op.columns + width - 1) / width, members, [&](std::int64_t item, int) {
    float sums[kMostColumns] = {};
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

bool is_row_product(const MatmulArgs& args) {
  return args.a.rows() == 1 && !args.transpose_a && !args.accumulate && args.a.columns() > 0 &&
         (args.a.dtype == DType::f32 || args.a.dtype == DType::bf16);
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
