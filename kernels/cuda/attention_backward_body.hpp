// Backward attention in two kernels, so that every sum has one owner and one order, and nothing is added to
// memory by two blocks: one block per 32 queries computes d_q, one per 32 keys computes d_k and d_v. Both
// recompute the weights from the log-sum-exp (Dao et al., "FlashAttention", 2022, algorithm 4): 7 products of
// tiles instead of 5.
#pragma once

#include "kernels/cuda/attention_heads.hpp"

namespace tenax::kernels::cuda {

inline constexpr int kBackwardRows = 32;

/// The block's shared memory, cut up: as many tiles as `tiles`, two matrices of 32 × 32, and two
/// numbers a query.
template <class Real>
class BackwardTiles {
 public:
  TENAX_HOST_DEVICE BackwardTiles(Real* memory, int head_size)
      : memory_(memory), tile_size_(kBackwardRows * tile_stride(head_size)) {
    weights = memory;
    d_scores = weights + kBackwardRows * kScoreStride;
    log_sum_exp = d_scores + kBackwardRows * kScoreStride;
    output_dots = log_sum_exp + kBackwardRows;
  }
  TENAX_HOST_DEVICE Real* tile(int number) const { return memory_ + kFixed + number * tile_size_; }
  /// Numbers of Real that it needs.
  static constexpr int size(int head_size, int tiles) {
    return kFixed + tiles * kBackwardRows * tile_stride(head_size);
  }
  static constexpr int kScoreStride = tile_stride(kBackwardRows);
  Real *weights, *d_scores, *log_sum_exp, *output_dots;

 private:
  static constexpr int kFixed = kBackwardRows * (2 * kScoreStride + 2);
  Real* memory_;
  int tile_size_;
};

inline constexpr int kQueryTiles = 5, kKeyTiles = 6;

template <class Group, class Element, class Real>
TENAX_HOST_DEVICE void load_row_numbers(Group group, const AttentionBackward<Element>& op, std::int64_t index,
                                        int first_query, const BackwardTiles<Real>& tiles) {
  for (int row = group.rank(); row < kBackwardRows; row += group.size()) {
    const bool inside = first_query + row < op.shape.length;
    const std::int64_t at = index * op.shape.length + first_query + row;
    tiles.log_sum_exp[row] = inside ? op.log_sum_exp[at] : Real(0);
    tiles.output_dots[row] = inside ? op.output_dots[at] : Real(0);
  }
}

/// output_dots of one row of head `index`. The group's threads share the row.
template <class Group, class Element>
TENAX_HOST_DEVICE void attention_output_dot(Group group, const AttentionBackward<Element>& op,
                                            std::int64_t index, int row) {
  using Real = Accumulator<Element>;
  const auto out = head_of(op.shape, op.out, index, 1, 0), d_out = head_of(op.shape, op.d_out, index, 1, 0);
  Real sum = 0;
  for (int c = group.rank(); c < op.shape.head_size; c += group.size())
    sum += widen(out.data[row * out.row_stride + c]) * widen(d_out.data[row * d_out.row_stride + c]);
  sum = group.sum(sum);
  if (group.rank() == 0) op.output_dots[index * op.shape.length + row] = sum;
}

/// d_q of queries [first_query, first_query + 32) of head `index`. `memory`: BackwardTiles<Real>::size(..,
/// kQueryTiles).
template <class Group, class Element, class Real>
TENAX_HOST_DEVICE void attention_backward_queries(Group group, const AttentionBackward<Element>& op,
                                                  std::int64_t index, int first_query, Real* memory) {
  const int length = op.shape.length, columns = op.shape.head_size;
  const BackwardTiles<Real> tiles(memory, columns);
  Real *const queries = tiles.tile(0), *const d_out = tiles.tile(1), *const d_q = tiles.tile(2),
              *const keys = tiles.tile(3), *const values = tiles.tile(4);
  load_tile<kBackwardRows>(group, head_of(op.shape, op.qkv, index, 3, 0), first_query, queries);
  load_tile<kBackwardRows>(group, head_of(op.shape, op.d_out, index, 1, 0), first_query, d_out);
  zero_tile<kBackwardRows>(group, columns, d_q);
  load_row_numbers(group, op, index, first_query, tiles);
  for (int first_key = 0; first_key < length && first_key <= first_query; first_key += kBackwardRows) {
    load_tile<kBackwardRows>(group, head_of(op.shape, op.qkv, index, 3, 1), first_key, keys);
    load_tile<kBackwardRows>(group, head_of(op.shape, op.qkv, index, 3, 2), first_key, values);
    group.sync();
    for_row_products<kBackwardRows, kBackwardRows, 2>(
        group, queries, keys, columns, [&](int row, int key, Real product) {
          const bool seen = first_key + key <= first_query + row && first_query + row < length;
          tiles.weights[row * tiles.kScoreStride + key] =
              seen ? std::exp(product * op.scale - tiles.log_sum_exp[row]) : Real(0);
        });
    // Each thread reads the weights that it wrote: both products deal their patches alike.
    for_row_products<kBackwardRows, kBackwardRows, 2>(
        group, d_out, values, columns, [&](int row, int key, Real product) {
          const int at = row * tiles.kScoreStride + key;
          tiles.d_scores[at] = tiles.weights[at] * (product - tiles.output_dots[row]) * op.scale;
        });
    group.sync();
    add_weighted_rows<kBackwardRows, kBackwardRows>(group, tiles.d_scores, keys, columns, d_q,
                                                    [](int) { return Real(1); });
    group.sync();
  }
  store_tile<kBackwardRows>(group, d_q, head_of(op.shape, op.d_q, index, op.d_q_parts, 0), first_query,
                            [](int) { return Real(1); });
}

/// d_k and d_v of keys [first_key, first_key + 32) of head `index`. They may be the memory of k and v:
/// of these, a block reads only what it writes, before it does. `memory`:
/// BackwardTiles<Real>::size(.., kKeyTiles).
template <class Group, class Element, class Real>
TENAX_HOST_DEVICE void attention_backward_keys(Group group, const AttentionBackward<Element>& op,
                                               std::int64_t index, int first_key, Real* memory) {
  const int length = op.shape.length, columns = op.shape.head_size;
  const BackwardTiles<Real> tiles(memory, columns);
  Real *const keys = tiles.tile(0), *const values = tiles.tile(1), *const d_k = tiles.tile(2),
              *const d_v = tiles.tile(3), *const queries = tiles.tile(4), *const d_out = tiles.tile(5);
  load_tile<kBackwardRows>(group, head_of(op.shape, op.qkv, index, 3, 1), first_key, keys);
  load_tile<kBackwardRows>(group, head_of(op.shape, op.qkv, index, 3, 2), first_key, values);
  zero_tile<kBackwardRows>(group, columns, d_k);
  zero_tile<kBackwardRows>(group, columns, d_v);
  for (int first_query = first_key; first_query < length; first_query += kBackwardRows) {
    load_tile<kBackwardRows>(group, head_of(op.shape, op.qkv, index, 3, 0), first_query, queries);
    load_tile<kBackwardRows>(group, head_of(op.shape, op.d_out, index, 1, 0), first_query, d_out);
    load_row_numbers(group, op, index, first_query, tiles);
    group.sync();
    for_row_products<kBackwardRows, kBackwardRows, 2>(
        group, keys, queries, columns, [&](int key, int row, Real product) {
          const bool seen = first_key + key <= first_query + row && first_query + row < length;
          tiles.weights[key * tiles.kScoreStride + row] =
              seen ? std::exp(product * op.scale - tiles.log_sum_exp[row]) : Real(0);
        });
    for_row_products<kBackwardRows, kBackwardRows, 2>(
        group, values, d_out, columns, [&](int key, int row, Real product) {
          const int at = key * tiles.kScoreStride + row;
          tiles.d_scores[at] = tiles.weights[at] * (product - tiles.output_dots[row]) * op.scale;
        });
    group.sync();
    add_weighted_rows<kBackwardRows, kBackwardRows>(group, tiles.weights, d_out, columns, d_v,
                                                    [](int) { return Real(1); });
    add_weighted_rows<kBackwardRows, kBackwardRows>(group, tiles.d_scores, queries, columns, d_k,
                                                    [](int) { return Real(1); });
    group.sync();
  }
  store_tile<kBackwardRows>(group, d_k, head_of(op.shape, op.d_kv, index, 3, 1), first_key,
                            [](int) { return Real(1); });
  store_tile<kBackwardRows>(group, d_v, head_of(op.shape, op.d_kv, index, 3, 2), first_key,
                            [](int) { return Real(1); });
}

}  // namespace tenax::kernels::cuda
