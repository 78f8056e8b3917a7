// Attention of 64 queries of one head: an online softmax over tiles of 32 keys (Dao et al., "FlashAttention",
// 2022, algorithm 1), everything in shared memory.
#pragma once

#include <limits>

#include "kernels/cuda/attention_heads.hpp"

namespace tenax::kernels::cuda {

inline constexpr int kForwardQueries = 64, kForwardKeys = 32;

/// The block's shared memory, cut up.
template <class Real>
struct ForwardTiles {
  TENAX_HOST_DEVICE ForwardTiles(Real* memory, int head_size) {
    const int stride = tile_stride(head_size);
    queries = memory;
    outputs = queries + kForwardQueries * stride;
    keys = outputs + kForwardQueries * stride;
    scores = keys + kForwardKeys * stride;
    row_max = scores + kForwardQueries * kScoreStride;
    row_sum = row_max + kForwardQueries;
    correction = row_sum + kForwardQueries;
  }
  /// Numbers of Real that it needs.
  static constexpr int size(int head_size) {
    return (2 * kForwardQueries + kForwardKeys) * tile_stride(head_size) +
           kForwardQueries * (kScoreStride + 3);
  }
  static constexpr int kScoreStride = tile_stride(kForwardKeys);
  Real *queries, *outputs, *keys, *scores, *row_max, *row_sum, *correction;
};

// Raises the rows' maxima to those of the new scores. Scores that the mask hides do not count. NaN
// never becomes the maximum, but reaches the sum.
template <class Group, class Real>
TENAX_HOST_DEVICE void raise_maxima(Group group, const ForwardTiles<Real>& tiles, int first_query,
                                    int first_key) {
  for (int row = group.rank(); row < kForwardQueries; row += group.size()) {
    const Real before = tiles.row_max[row];
    Real highest = before;
    for (int k = 0; k < kForwardKeys; k += 4) {
      const Quad<Real> score = quad_at(tiles.scores + row * tiles.kScoreStride + k);
      TENAX_UNROLL
      for (int i = 0; i < 4; ++i)
        highest = first_key + k + i <= first_query + row && score.at[i] > highest ? score.at[i] : highest;
    }
    tiles.row_max[row] = highest;
    tiles.correction[row] = std::exp(before - highest);
  }
}

template <class Group, class Real>
TENAX_HOST_DEVICE void exponentiate(Group group, const ForwardTiles<Real>& tiles, int first_query,
                                    int first_key) {
  for (int item = group.rank(); item < kForwardQueries * kForwardKeys; item += group.size()) {
    const int row = item / kForwardKeys, key = item % kForwardKeys;
    Real& score = tiles.scores[row * tiles.kScoreStride + key];
    score = first_key + key <= first_query + row ? std::exp(score - tiles.row_max[row]) : Real(0);
  }
}

template <class Group, class Real>
TENAX_HOST_DEVICE void add_to_sums(Group group, const ForwardTiles<Real>& tiles) {
  for (int row = group.rank(); row < kForwardQueries; row += group.size()) {
    Real sum = 0;
    for (int k = 0; k < kForwardKeys; k += 4) {
      const Quad<Real> weight = quad_at(tiles.scores + row * tiles.kScoreStride + k);
      sum += (weight.at[0] + weight.at[1]) + (weight.at[2] + weight.at[3]);
    }
    tiles.row_sum[row] = tiles.row_sum[row] * tiles.correction[row] + sum;
  }
}

/// Queries [first_query, first_query + 64) of head `index`. `memory`: ForwardTiles<Real>::size() numbers,
/// aligned to 16 bytes, that the group shares.
template <class Group, class Element, class Real>
TENAX_HOST_DEVICE void attention_forward_block(Group group, const AttentionForward<Element>& op,
                                               std::int64_t index, int first_query, Real* memory) {
  const int length = op.shape.length, columns = op.shape.head_size;
  const ForwardTiles<Real> tiles(memory, columns);
  const auto keys = head_of(op.shape, op.qkv, index, 3, 1), values = head_of(op.shape, op.qkv, index, 3, 2);
  load_tile<kForwardQueries>(group, head_of(op.shape, op.qkv, index, 3, 0), first_query, tiles.queries);
  zero_tile<kForwardQueries>(group, columns, tiles.outputs);
  for (int row = group.rank(); row < kForwardQueries; row += group.size()) {
    tiles.row_max[row] = std::numeric_limits<Real>::lowest();
    tiles.row_sum[row] = 0;
  }
  const int last_query = first_query + kForwardQueries < length ? first_query + kForwardQueries : length;
  for (int first_key = 0; first_key < last_query; first_key += kForwardKeys) {
    load_tile<kForwardKeys>(group, keys, first_key, tiles.keys);
    group.sync();
    for_row_products<kForwardQueries, kForwardKeys, 4>(
        group, tiles.queries, tiles.keys, columns, [&](int row, int key, Real product) {
          tiles.scores[row * tiles.kScoreStride + key] = product * op.scale;
        });
    group.sync();
    load_tile<kForwardKeys>(group, values, first_key, tiles.keys);  // in the place of the keys
    raise_maxima(group, tiles, first_query, first_key);
    group.sync();
    exponentiate(group, tiles, first_query, first_key);
    group.sync();
    add_to_sums(group, tiles);
    add_weighted_rows<kForwardQueries, kForwardKeys>(group, tiles.scores, tiles.keys, columns, tiles.outputs,
                                                     [&](int row) { return tiles.correction[row]; });
    group.sync();
  }
  store_tile<kForwardQueries>(group, tiles.outputs, head_of(op.shape, op.out, index, 1, 0), first_query,
                              [&](int row) { return 1 / tiles.row_sum[row]; });
  for (int row = group.rank(); row < kForwardQueries; row += group.size())
    if (first_query + row < length)
      op.log_sum_exp[index * length + first_query + row] = tiles.row_max[row] + std::log(tiles.row_sum[row]);
}

}  // namespace tenax::kernels::cuda
