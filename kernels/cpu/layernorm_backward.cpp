// With x̂ = (x − mean) · rstd and g = d_y ∘ gamma: d_x = rstd · (g − mean(g) − x̂ · mean(g ∘ x̂)), d_gamma =
// Σ_rows d_y ∘ x̂, d_beta = Σ_rows d_y.
#include <memory>

#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/parallel_blocks.hpp"

namespace tenax::kernels {
namespace {

// First pass over a row: its two means, and its share of the parameter gradients.
template <class T, class A = Accumulator<T>>
void reduce_row(const T* x, const T* d_y, const T* gamma, A mean, A rstd, A* d_gamma, A* d_beta,
                std::int64_t columns, A* mean_g, A* mean_g_xhat) {
  A g_sum = 0, g_xhat_sum = 0;
#pragma omp simd reduction(+ : g_sum, g_xhat_sum)
  for (std::int64_t i = 0; i < columns; ++i) {
    const A d = widen(d_y[i]), xhat = (widen(x[i]) - mean) * rstd, g = d * widen(gamma[i]);
    g_sum += g;
    g_xhat_sum += g * xhat;
    d_gamma[i] += d * xhat;
    d_beta[i] += d;
  }
  *mean_g = g_sum / static_cast<A>(columns);
  *mean_g_xhat = g_xhat_sum / static_cast<A>(columns);
}

template <bool residual, class T, class A = Accumulator<T>>
void write_row(const T* x, const T* d_y, const T* gamma, const T* d_residual, T* d_x, A mean, A rstd,
               A mean_g, A mean_g_xhat, std::int64_t columns) {
#pragma omp simd
  for (std::int64_t i = 0; i < columns; ++i) {
    const A xhat = (widen(x[i]) - mean) * rstd;
    A d = rstd * (widen(d_y[i]) * widen(gamma[i]) - mean_g - xhat * mean_g_xhat);
    if constexpr (residual) d += widen(d_residual[i]);
    d_x[i] = narrow<T>(d);
  }
}

template <class T>
struct Backward {
  using A = Accumulator<T>;
  const T *x, *gamma, *d_y, *d_residual;
  const A *mean, *rstd;
  T* d_x;
  std::int64_t columns;

  // sums: this block's [2, columns] of d_gamma and d_beta.
  void rows(std::int64_t begin, std::int64_t end, A* sums) const {
    A *const d_gamma = sums, *const d_beta = sums + columns;
    std::fill(sums, sums + 2 * columns, A(0));
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t at = row * columns;
      A mean_g, mean_g_xhat;
      reduce_row(x + at, d_y + at, gamma, mean[row], rstd[row], d_gamma, d_beta, columns, &mean_g,
                 &mean_g_xhat);
      if (d_residual)
        write_row<true>(x + at, d_y + at, gamma, d_residual + at, d_x + at, mean[row], rstd[row], mean_g,
                        mean_g_xhat, columns);
      else
        write_row<false>(x + at, d_y + at, gamma, d_residual, d_x + at, mean[row], rstd[row], mean_g,
                         mean_g_xhat, columns);
    }
  }
};

// destination[i] = Σ_block partial[block · stride + i], in the order of the blocks.
template <class A>
void sum_blocks(const A* partial, std::int64_t blocks, std::int64_t stride, A* destination,
                std::int64_t columns) {
  std::fill(destination, destination + columns, A(0));
  for (std::int64_t block = 0; block < blocks; ++block) {
    const A* const source = partial + block * stride;
#pragma omp simd
    for (std::int64_t i = 0; i < columns; ++i) destination[i] += source[i];
  }
}

}  // namespace

void CpuKernels::layernorm_backward(Stream& stream, const LayerNormBackwardArgs& args) {
  const std::int64_t columns = args.gamma.size(), rows = args.x.rows();
  assert(args.x.columns() == columns && args.mean.size() == rows);
  with_type(args.x.dtype, [&](auto type) {
    using T = decltype(type);
    using A = Accumulator<T>;
    const std::int64_t blocks = (rows + kRowBlock - 1) / kRowBlock;
    const auto partial = std::make_unique_for_overwrite<A[]>(static_cast<std::size_t>(blocks * 2 * columns));
    const Backward<T> backward{args.x.as<T>(),    args.gamma.as<T>(),
                               args.d_y.as<T>(),  args.d_residual ? args.d_residual.as<T>() : nullptr,
                               args.mean.as<A>(), args.rstd.as<A>(),
                               args.d_x.as<T>(),  columns};
    A* const sums = partial.get();
    for_blocks(stream, rows, kRowBlock, [=](std::int64_t begin, std::int64_t end) {
      backward.rows(begin, end, sums + begin / kRowBlock * 2 * columns);
    });
    sum_blocks(sums, blocks, 2 * columns, args.d_gamma.as<A>(), columns);
    sum_blocks(sums + columns, blocks, 2 * columns, args.d_beta.as<A>(), columns);
  });
}

}  // namespace tenax::kernels
