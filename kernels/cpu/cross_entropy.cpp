// Vocabulary-parallel cross entropy (Shoeybi et al. 2019, section 3). Compiled with NaN and Inf in their full
// meaning: a row with a non-finite logit must give a non-finite loss, on which the step is skipped.
#include <cmath>
#include <limits>

#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/exponential.hpp"
#include "kernels/cpu/parallel_blocks.hpp"

namespace tenax::kernels {
namespace {

constexpr std::int64_t kChunk = 2048;  ///< logits read twice, the second time from the first-level cache

template <class T, class A = Accumulator<T>>
A maximum_of(const T* x, std::int64_t count, A start) {
  A m = start;
#pragma omp simd reduction(max : m)
  for (std::int64_t i = 0; i < count; ++i) m = widen(x[i]) > m ? widen(x[i]) : m;
  return m;
}

// The maximum and Σ exp(x − maximum) in one pass over memory: a chunk that raises the maximum rescales the
// sum so far.
template <class T, class A = Accumulator<T>>
void reduce_row(const T* x, std::int64_t count, A* maximum, A* sum) {
  A running_max = std::numeric_limits<A>::lowest(), running_sum = 0;
  for (std::int64_t begin = 0; begin < count; begin += kChunk) {
    const T* const chunk = x + begin;
    const std::int64_t n = std::min(kChunk, count - begin);
    const A m = maximum_of(chunk, n, running_max);
    if (m > running_max) {
      running_sum *= exponential_up_to_one(running_max - m);
      running_max = m;
    }
    running_sum +=
        sum_of<A>(n, [=](std::int64_t i) { return exponential_up_to_one(widen(chunk[i]) - running_max); });
  }
  *maximum = running_max;
  *sum = running_sum;
}

template <class T, class A = Accumulator<T>>
void gradient_row(const T* logits, A log_sum_exp, A scale, T* d_logits, std::int64_t valid) {
#pragma omp simd
  for (std::int64_t i = 0; i < valid; ++i)
    d_logits[i] = narrow<T>(scale * exponential_up_to_one(widen(logits[i]) - log_sum_exp));
}

/// body(row) for each row of `logits`, of which a member of the team takes some thousand columns at a time.
template <class Body>
void for_rows(Stream& stream, const Tensor& logits, const Body& body) {
  const std::int64_t together =
      std::max<std::int64_t>(1, kElementBlock / std::max<std::int64_t>(1, logits.columns()));
  for_blocks(stream, logits.rows(), together, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) body(row);
  });
}

}  // namespace

void CpuKernels::cross_entropy_forward(Stream& stream, const CrossEntropyForwardArgs& args) {
  const std::int64_t columns = args.logits.columns(), valid = args.valid_columns, first = args.vocab_begin;
  assert(valid >= 0 && valid <= columns && args.targets.size() == args.logits.rows());
  with_type(args.logits.dtype, [&](auto type) {
    using T = decltype(type);
    using A = Accumulator<T>;
    const T* const logits = args.logits.as<T>();
    const auto* const targets = args.targets.as<std::int32_t>();
    A *const row_max = args.row_max.as<A>(), *const row_sum = args.row_sum.as<A>();
    A* const target_logit = args.target_logit.as<A>();
    for_rows(stream, args.logits, [=](std::int64_t row) {
      const T* const x = logits + row * columns;
      const std::int64_t target = targets[row] - first;
      reduce_row(x, valid, row_max + row, row_sum + row);
      target_logit[row] = target >= 0 && target < valid ? A(widen(x[target])) : A(0);
    });
  });
}

void CpuKernels::cross_entropy_rescale(Stream& stream, const CrossEntropyRescaleArgs& args) {
  with_type(args.row_sum.dtype, [&](auto type) {
    using A = Accumulator<decltype(type)>;
    const A *const local = args.local_max.as<A>(), *const global = args.global_max.as<A>();
    A* const sum = args.row_sum.as<A>();
    for_blocks(stream, args.row_sum.size(), kElementBlock, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) sum[i] *= exponential_up_to_one(local[i] - global[i]);
    });
  });
}

void CpuKernels::cross_entropy_loss(Stream& stream, const CrossEntropyLossArgs& args) {
  with_type(args.row_sum.dtype, [&](auto type) {
    using A = Accumulator<decltype(type)>;
    const A *const row_max = args.row_max.as<A>(), *const row_sum = args.row_sum.as<A>();
    const A* const target_logit = args.target_logit.as<A>();
    A *const log_sum_exp = args.log_sum_exp.as<A>(), *const losses = args.losses.as<A>();
    for_blocks(stream, args.row_sum.size(), kElementBlock, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const A value = row_max[i] + std::log(row_sum[i]);
        log_sum_exp[i] = value;
        losses[i] = value - target_logit[i];
      }
    });
  });
}

void CpuKernels::cross_entropy_backward(Stream& stream, const CrossEntropyBackwardArgs& args) {
  const std::int64_t columns = args.logits.columns(), valid = args.valid_columns, first = args.vocab_begin;
  assert(valid >= 0 && valid <= columns && args.targets.size() == args.logits.rows());
  with_type(args.logits.dtype, [&](auto type) {
    using T = decltype(type);
    using A = Accumulator<T>;
    const T* const logits = args.logits.as<T>();
    const auto* const targets = args.targets.as<std::int32_t>();
    const A* const log_sum_exp = args.log_sum_exp.as<A>();
    T* const d_logits = args.d_logits.as<T>();
    const A scale = static_cast<A>(args.scale);
    for_rows(stream, args.logits, [=](std::int64_t row) {
      const T* const x = logits + row * columns;
      T* const d = d_logits + row * columns;
      const std::int64_t target = targets[row] - first;
      const bool here = target >= 0 && target < valid;
      const A at_target = here ? A(widen(x[target])) : A(0);  // read before d, which may be the same memory
      gradient_row(x, log_sum_exp[row], scale, d, valid);
      if (here) d[target] = narrow<T>(scale * (exponential_up_to_one(at_target - log_sum_exp[row]) - A(1)));
      std::fill(d + valid, d + columns, T{});
    });
  });
}

}  // namespace tenax::kernels
