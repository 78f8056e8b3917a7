// Layer norm of one row by a group of threads, optionally of a sum that it forms and stores on the way.
#pragma once

#include <cmath>

#include "kernels/cuda/elementwise_body.hpp"
#include "kernels/cuda/vector16.hpp"

namespace tenax::kernels::cuda {

/// Packs of a row that a thread holds in registers; of a wider row, all are read again for each use.
inline constexpr int kNormSlots = 4;

template <class T>
struct NormRows {
  using A = Accumulator<T>;
  const T *x, *delta, *bias;  ///< delta, bias and sum: of a residual sum only
  T* sum;
  const T *gamma, *beta;
  T* y;
  A *mean, *rstd;
  A epsilon;
  std::int64_t columns;
};

/// Writes sum (where residual), y, mean and rstd of `row`. The variance is summed around the mean, after it:
/// sums of squares would cancel.
template <int kCount, bool residual, class Group, class T>
TENAX_HOST_DEVICE void layernorm_forward_row(Group group, const NormRows<T>& rows, std::int64_t row) {
  using A = Accumulator<T>;
  const std::int64_t columns = rows.columns, begin = row * columns;
  const T* const x = rows.x + begin;
  const T* const normed = residual ? rows.sum + begin : x;
  const bool held = fits_in_slots<kCount, kNormSlots>(group, columns);
  Raw<T, kCount> values[kNormSlots], deltas[kNormSlots];
  const auto reload = [&](int slot, std::int64_t at) {
    if (!held) values[slot] = load_raw<kCount>(normed + at);
  };

  A total = 0;
  for_slots<kCount, kNormSlots>(
      group, columns,
      [&](int slot, std::int64_t at) {
        values[slot] = load_raw<kCount>(x + at);
        if constexpr (residual) deltas[slot] = load_raw<kCount>(rows.delta + begin + at);
      },
      [&](int slot, std::int64_t at) {
        if constexpr (residual) {
          values[slot] = residual_sum(values[slot], deltas[slot], rows.bias + at);
          store_raw(rows.sum + begin + at, values[slot]);
        }
        total += total_of(widened(values[slot]));
      });
  const A mean = group.sum(total) / static_cast<A>(columns);

  A squares = 0;
  for_slots<kCount, kNormSlots>(group, columns, reload, [&](int slot, std::int64_t) {
    const auto value = widened(values[slot]);
    TENAX_UNROLL
    for (int i = 0; i < kCount; ++i) squares += (value.at[i] - mean) * (value.at[i] - mean);
  });
  const A rstd = A(1) / std::sqrt(group.sum(squares) / static_cast<A>(columns) + rows.epsilon);
  if (group.rank() == 0) {
    rows.mean[row] = mean;
    rows.rstd[row] = rstd;
  }

  for_slots<kCount, kNormSlots>(group, columns, reload, [&](int slot, std::int64_t at) {
    auto value = widened(values[slot]);
    const auto gamma = load<kCount>(rows.gamma + at), beta = load<kCount>(rows.beta + at);
    TENAX_UNROLL
    for (int i = 0; i < kCount; ++i) value.at[i] = (value.at[i] - mean) * rstd * gamma.at[i] + beta.at[i];
    store(rows.y + begin + at, value);
  });
}

}  // namespace tenax::kernels::cuda
