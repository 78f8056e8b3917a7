// The backward pass of layer norm over many rows by one group of threads. With x̂ = (x − mean) · rstd and g =
// d_y ∘ gamma: d_x = rstd · (g − mean(g) − x̂ · mean(g ∘ x̂)) (+ d_residual), d_gamma = Σ_rows d_y ∘ x̂,
// d_beta = Σ_rows d_y.
#pragma once

#include "kernels/cuda/vector16.hpp"

namespace tenax::kernels::cuda {

template <class T>
struct NormGradientRows {
  using A = Accumulator<T>;
  const T *x, *gamma, *d_y, *d_residual;  ///< d_residual may be null
  const A *mean, *rstd;
  T* d_x;
  std::int64_t rows, columns;
};

/// What a group has read of one row: kSlots packs a thread.
template <int kCount, int kSlots, class T>
struct NormGradientInputs {
  Raw<T, kCount> x[kSlots], d_y[kSlots], d_residual[kSlots];
  Accumulator<T> mean, rstd;
};

template <bool residual, int kCount, int kSlots, class Group, class T>
TENAX_HOST_DEVICE void read_row(Group group, const NormGradientRows<T>& op, std::int64_t row,
                                NormGradientInputs<kCount, kSlots, T>& inputs) {
  inputs.mean = op.mean[row];
  inputs.rstd = op.rstd[row];
  const std::int64_t begin = row * op.columns;
  for_slots<kCount, kSlots>(
      group, op.columns,
      [&](int slot, std::int64_t at) {
        inputs.x[slot] = load_raw<kCount>(op.x + begin + at);
        inputs.d_y[slot] = load_raw<kCount>(op.d_y + begin + at);
        if (residual && op.d_residual) inputs.d_residual[slot] = load_raw<kCount>(op.d_residual + begin + at);
      },
      [](int, std::int64_t) {});
}

/// x̂ and d_y of one pack.
template <int kCount, class T>
struct NormGradientTerms {
  using A = Accumulator<T>;
  Pack<A, kCount> xhat, d;

  TENAX_HOST_DEVICE NormGradientTerms(const Raw<T, kCount>& x, const Raw<T, kCount>& d_y, A mean, A rstd)
      : xhat(widened(x)), d(widened(d_y)) {
    TENAX_UNROLL
    for (int i = 0; i < kCount; ++i) xhat.at[i] = (xhat.at[i] - mean) * rstd;
  }
  // += {Σ g, Σ g ∘ x̂}
  TENAX_HOST_DEVICE void add_to(Pack<A, 2>& sums, const Pack<A, kCount>& gamma) const {
    TENAX_UNROLL
    for (int i = 0; i < kCount; ++i) {
      sums.at[0] += d.at[i] * gamma.at[i];
      sums.at[1] += d.at[i] * gamma.at[i] * xhat.at[i];
    }
  }
  TENAX_HOST_DEVICE void add_to(Pack<A, kCount>& d_gamma, Pack<A, kCount>& d_beta) const {
    TENAX_UNROLL
    for (int i = 0; i < kCount; ++i) {
      d_gamma.at[i] += d.at[i] * xhat.at[i];
      d_beta.at[i] += d.at[i];
    }
  }
  /// means: of g and of g ∘ x̂.
  TENAX_HOST_DEVICE Pack<A, kCount> d_x(A rstd, const Pack<A, 2>& means, const Pack<A, kCount>& gamma) const {
    Pack<A, kCount> result;
    TENAX_UNROLL
    for (int i = 0; i < kCount; ++i)
      result.at[i] = rstd * (d.at[i] * gamma.at[i] - means.at[0] - xhat.at[i] * means.at[1]);
    return result;
  }
};

template <class A>
TENAX_HOST_DEVICE Pack<A, 2> means_of(const Pack<A, 2>& sums, std::int64_t columns) {
  return {{sums.at[0] / static_cast<A>(columns), sums.at[1] / static_cast<A>(columns)}};
}

/// Rows first_row, first_row + row_step, … of which each thread holds its packs in registers (fits_in_slots).
/// `ahead`: reads the next row before it has finished one, which only this group overwrites, and later.
/// Writes d_x, and to `partial` [2, columns] these rows' sums for d_gamma and d_beta.
template <int kCount, int kSlots, bool ahead, class Group, class T>
TENAX_HOST_DEVICE void layernorm_backward_held(Group group, const NormGradientRows<T>& op,
                                               std::int64_t first_row, std::int64_t row_step,
                                               Accumulator<T>* partial) {
  using A = Accumulator<T>;
  const auto nothing = [](int, std::int64_t) {};
  Pack<A, kCount> d_gamma[kSlots] = {}, d_beta[kSlots] = {};
  NormGradientInputs<kCount, kSlots, T> in, next;
  if (ahead && first_row < op.rows) read_row<true>(group, op, first_row, next);
  for (std::int64_t row = first_row; row < op.rows; row += row_step) {
    if constexpr (ahead) {
      in = next;
      if (row + row_step < op.rows) read_row<true>(group, op, row + row_step, next);
    } else {
      read_row<false>(group, op, row, in);
    }
    Pack<A, 2> sums = {};
    for_slots<kCount, kSlots>(group, op.columns, nothing, [&](int slot, std::int64_t at) {
      const NormGradientTerms<kCount, T> terms(in.x[slot], in.d_y[slot], in.mean, in.rstd);
      terms.add_to(sums, load<kCount>(op.gamma + at));
      terms.add_to(d_gamma[slot], d_beta[slot]);
    });
    const Pack<A, 2> means = means_of(group.sum(sums), op.columns);
    for_slots<kCount, kSlots>(group, op.columns, nothing, [&](int slot, std::int64_t at) {
      const NormGradientTerms<kCount, T> terms(in.x[slot], in.d_y[slot], in.mean, in.rstd);
      auto d_x = terms.d_x(in.rstd, means, load<kCount>(op.gamma + at));
      const std::int64_t i = row * op.columns + at;
      if (op.d_residual)
        d_x = d_x + widened(ahead ? in.d_residual[slot] : load_raw<kCount>(op.d_residual + i));
      store(op.d_x + i, d_x);
    });
  }
  for_slots<kCount, kSlots>(group, op.columns, nothing, [&](int slot, std::int64_t at) {
    store(partial + at, d_gamma[slot]);
    store(partial + op.columns + at, d_beta[slot]);
  });
}

/// The same for rows of any length, element by element: they are read twice, and the sums are kept
/// in `partial`.
template <class Group, class T>
TENAX_HOST_DEVICE void layernorm_backward_any(Group group, const NormGradientRows<T>& op,
                                              std::int64_t first_row, std::int64_t row_step,
                                              Accumulator<T>* partial) {
  using A = Accumulator<T>;
  const auto terms_at = [&](std::int64_t row, std::int64_t at) {
    const std::int64_t i = row * op.columns + at;
    return NormGradientTerms<1, T>({op.x[i]}, {op.d_y[i]}, op.mean[row], op.rstd[row]);
  };
  for (std::int64_t at = group.rank(); at < 2 * op.columns; at += group.size()) partial[at] = A(0);
  group.sync();
  for (std::int64_t row = first_row; row < op.rows; row += row_step) {
    Pack<A, 2> sums = {};
    for (std::int64_t at = group.rank(); at < op.columns; at += group.size()) {
      const auto terms = terms_at(row, at);
      terms.add_to(sums, load<1>(op.gamma + at));
      Pack<A, 1> d_gamma{{partial[at]}}, d_beta{{partial[op.columns + at]}};
      terms.add_to(d_gamma, d_beta);
      partial[at] = d_gamma.at[0];
      partial[op.columns + at] = d_beta.at[0];
    }
    const Pack<A, 2> means = means_of(group.sum(sums), op.columns);
    for (std::int64_t at = group.rank(); at < op.columns; at += group.size()) {
      auto d_x = terms_at(row, at).d_x(op.rstd[row], means, load<1>(op.gamma + at));
      const std::int64_t i = row * op.columns + at;
      if (op.d_residual) d_x = d_x + load<1>(op.d_residual + i);
      store(op.d_x + i, d_x);
    }
  }
}

}  // namespace tenax::kernels::cuda
