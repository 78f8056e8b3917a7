#include <array>

#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/element.hpp"
#include "kernels/cpu/parallel_blocks.hpp"

namespace tenax::kernels {
namespace {

// Columns summed together: their running sums stay in the first-level cache, and a team has strips to share.
constexpr std::int64_t kStrip = 128;
// Rows summed before they join the total: the error grows with runs, not rows.
constexpr std::int64_t kRun = 32;

// sums[columns] += rows [0, count) of the strip, four rows at a time.
template <class T, class A = Accumulator<T>>
void add_run(const T* strip, std::int64_t row_stride, std::int64_t count, A* sums, std::int64_t columns) {
  std::int64_t row = 0;
  for (; row + 4 <= count; row += 4) {
    const T *const r0 = strip + row * row_stride, *const r1 = r0 + row_stride, *const r2 = r1 + row_stride,
                   *const r3 = r2 + row_stride;
#pragma omp simd
    for (std::int64_t i = 0; i < columns; ++i)
      sums[i] += (widen(r0[i]) + widen(r1[i])) + (widen(r2[i]) + widen(r3[i]));
  }
  for (; row < count; ++row) {
    const T* const r0 = strip + row * row_stride;
#pragma omp simd
    for (std::int64_t i = 0; i < columns; ++i) sums[i] += widen(r0[i]);
  }
}

template <class T, class A = Accumulator<T>>
void sum_strip(const T* strip, std::int64_t row_stride, std::int64_t rows, A* result, std::int64_t columns,
               bool accumulate) {
  std::array<A, kStrip> total{};
  for (std::int64_t row = 0; row < rows; row += kRun) {
    std::array<A, kStrip> run{};
    add_run(strip + row * row_stride, row_stride, std::min(kRun, rows - row), run.data(), columns);
#pragma omp simd
    for (std::int64_t i = 0; i < columns; ++i) total[i] += run[i];
  }
  for (std::int64_t i = 0; i < columns; ++i) result[i] = (accumulate ? result[i] : A(0)) + total[i];
}

}  // namespace

void CpuKernels::bias_gradient(Stream& stream, const BiasGradientArgs& args) {
  const std::int64_t columns = args.d_bias.size(), rows = args.d_y.rows();
  assert(args.d_y.columns() == columns);
  with_type(args.d_y.dtype, [&](auto type) {
    using T = decltype(type);
    const T* const d_y = args.d_y.as<T>();
    auto* const d_bias = args.d_bias.as<Accumulator<T>>();
    const bool accumulate = args.accumulate;
    for_blocks(stream, columns, kStrip, [=](std::int64_t begin, std::int64_t end) {
      sum_strip(d_y + begin, columns, rows, d_bias + begin, end - begin, accumulate);
    });
  });
}

}  // namespace tenax::kernels
