#include <cmath>

#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/parallel_blocks.hpp"

namespace tenax::kernels {
namespace {

template <class T>
struct Norm {
  using A = Accumulator<T>;
  const T *gamma, *beta;
  T* y;
  A *mean, *rstd;
  A epsilon;
  std::int64_t columns;

  // The variance is summed around the mean, in a second pass: sums of squares would cancel.
  void normalise(const T* x, std::int64_t row) const {
    const std::int64_t n = columns;
    const A mu = sum_of<A>(n, [=](std::int64_t i) { return widen(x[i]); }) / static_cast<A>(n);
    const A variance = sum_of<A>(n, [=](std::int64_t i) { return (widen(x[i]) - mu) * (widen(x[i]) - mu); }) /
                       static_cast<A>(n);
    const A scale = A(1) / std::sqrt(variance + epsilon);
    mean[row] = mu;
    rstd[row] = scale;
    write(x, mu, scale, gamma, beta, y + row * n, n);
  }

  static void write(const T* x, A mu, A scale, const T* gamma, const T* beta, T* y, std::int64_t n) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i)
      y[i] = narrow<T>((widen(x[i]) - mu) * scale * widen(gamma[i]) + widen(beta[i]));
  }
};

template <class T, class Args>
Norm<T> norm_of(const Args& args) {
  using A = Accumulator<T>;
  return {args.gamma.template as<T>(),
          args.beta.template as<T>(),
          args.y.template as<T>(),
          args.mean.template as<A>(),
          args.rstd.template as<A>(),
          static_cast<A>(args.epsilon),
          args.gamma.size()};
}

}  // namespace

void CpuKernels::layernorm_forward(Stream& stream, const LayerNormForwardArgs& args) {
  assert(args.x.columns() == args.gamma.size() && args.mean.size() == args.x.rows());
  with_type(args.x.dtype, [&](auto type) {
    using T = decltype(type);
    const Norm<T> norm = norm_of<T>(args);
    const T* const x = args.x.as<T>();
    for_blocks(stream, args.x.rows(), kRowBlock, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) norm.normalise(x + row * norm.columns, row);
    });
  });
}

// One pass over memory: each sum is normalised, as stored, while it is still in the cache.
void CpuKernels::residual_layernorm_forward(Stream& stream, const ResidualLayerNormForwardArgs& args) {
  assert(args.x.columns() == args.gamma.size() && args.mean.size() == args.x.rows());
  with_type(args.x.dtype, [&](auto type) {
    using T = decltype(type);
    const Norm<T> norm = norm_of<T>(args);
    const T *const x = args.x.as<T>(), *const delta = args.delta.as<T>(), *const bias = args.bias.as<T>();
    T* const sum = args.sum.as<T>();
    for_blocks(stream, args.x.rows(), kRowBlock, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t first = row * norm.columns;
        residual_row(x + first, delta + first, bias, sum + first, norm.columns);
        norm.normalise(sum + first, row);
      }
    });
  });
}

}  // namespace tenax::kernels
