// What the threads of a block compute of one row of the cross entropy. Runs on the host and on the GPU.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/cuda/group.hpp"
#include "kernels/cuda/vector16.hpp"

namespace tenax::kernels::cuda {

template <class T, class A = Accumulator<T>>
struct CrossEntropyForwardRows {
  const T* logits;
  const std::int32_t* targets;
  A *row_max, *row_sum, *target_logit;
  std::int64_t columns, valid, vocab_begin;
};

template <class T, class A = Accumulator<T>>
struct CrossEntropyBackwardRows {
  const T* logits;
  const std::int32_t* targets;
  const A* log_sum_exp;
  T* d_logits;
  std::int64_t columns, valid, vocab_begin;
  A scale;
};

/// exp(x) for x ≤ 0 or slightly above; NaN for NaN.
TENAX_HOST_DEVICE double exponential_of(double x) { return std::exp(x); }
TENAX_HOST_DEVICE float exponential_of(float x) {
#ifdef __CUDA_ARCH__
  // One instruction after the product. Without .ftz it would be five, to give numbers below the normal ones.
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x * 1.44269504f));
  return result;
#else
  return std::exp(x);
#endif
}

/// Σ exp(x − maximum) over what was added so far, rescaled whenever the maximum rises. NaN never becomes the
/// maximum, but makes the sum NaN; so does +∞.
template <class A>
struct OnlineSum {
  A maximum = std::numeric_limits<A>::lowest(), sum = 0;

  template <int kCount>
  TENAX_HOST_DEVICE void add(const Pack<A, kCount>& x) {
    A highest = maximum;
    TENAX_UNROLL
    for (int k = 0; k < kCount; ++k) highest = x.at[k] > highest ? x.at[k] : highest;
    if (highest > maximum) {
      sum *= exponential_of(maximum - highest);
      maximum = highest;
    }
    TENAX_UNROLL
    for (int k = 0; k < kCount; ++k) sum += exponential_of(x.at[k] - maximum);
  }
};

/// Packs that a thread loads before it uses the first.
inline constexpr int kLogitLoads = 4;

template <int kCount, class Group, class T, class A>
TENAX_HOST_DEVICE void cross_entropy_forward_row(Group group, const CrossEntropyForwardRows<T, A>& rows,
                                                 std::int64_t row) {
  const T* const x = rows.logits + row * rows.columns;
  const std::int64_t packed = rows.valid / kCount * kCount;
  OnlineSum<A> part;
  for_packs<kCount, kLogitLoads>(
      group, packed, [=](std::int64_t at) { return load_raw<kCount>(x + at); },
      [&](std::int64_t, const Raw<T, kCount>& raw) { part.add(widened(raw)); });
  for (std::int64_t i = packed + group.rank(); i < rows.valid; i += group.size()) part.add(load<1>(x + i));
  const A maximum = group.max(part.maximum);
  const A sum = group.sum(part.sum * exponential_of(part.maximum - maximum));
  if (group.rank() != 0) return;
  const std::int64_t target = rows.targets[row] - rows.vocab_begin;
  rows.row_max[row] = maximum;
  rows.row_sum[row] = sum;
  rows.target_logit[row] = target >= 0 && target < rows.valid ? A(widen(x[target])) : A(0);
}

/// scale · (exp(x − log_sum_exp) − [column is the target]), the target's column counted from the
/// pack's first.
template <class A, int kCount>
TENAX_HOST_DEVICE Pack<A, kCount> logit_gradient(Pack<A, kCount> x, A log_sum_exp, A scale,
                                                 std::int64_t target) {
  TENAX_UNROLL
  for (int k = 0; k < kCount; ++k) x.at[k] = exponential_of(x.at[k] - log_sum_exp);
  if (target >= 0 && target < kCount) {
    TENAX_UNROLL
    for (int k = 0; k < kCount; ++k) x.at[k] -= k == target ? A(1) : A(0);
  }
  TENAX_UNROLL
  for (int k = 0; k < kCount; ++k) x.at[k] *= scale;
  return x;
}

template <int kCount, class Group, class T, class A>
TENAX_HOST_DEVICE void cross_entropy_backward_row(Group group, const CrossEntropyBackwardRows<T, A>& rows,
                                                  std::int64_t row) {
  const T* const x = rows.logits + row * rows.columns;
  T* const d = rows.d_logits + row * rows.columns;
  const std::int64_t target = rows.targets[row] - rows.vocab_begin, packed = rows.valid / kCount * kCount;
  const A log_sum_exp = rows.log_sum_exp[row], scale = rows.scale;
  for_packs<kCount, kLogitLoads>(
      group, packed, [=](std::int64_t at) { return load_raw<kCount>(x + at); },
      [=](std::int64_t at, const Raw<T, kCount>& raw) {
        store(d + at, logit_gradient(widened(raw), log_sum_exp, scale, target - at));
      });
  for (std::int64_t i = packed + group.rank(); i < rows.valid; i += group.size())
    store(d + i, logit_gradient(load<1>(x + i), log_sum_exp, scale, target - i));
  for (std::int64_t i = rows.valid + group.rank(); i < rows.columns; i += group.size()) d[i] = T{};
}

}  // namespace tenax::kernels::cuda
