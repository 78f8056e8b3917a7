// Sums down the columns of a matrix, in two stages: of chunks of rows, then of the chunks' sums. The order is
// fixed by the shape alone.
#pragma once

#include "kernels/cuda/vector16.hpp"

namespace tenax::kernels::cuda {

/// The sums of the kCount columns from `first` on, over `rows` rows that are `stride` elements apart, shared
/// among the group: rank r adds rows r, r + size, …
template <int kCount, class Group, class T>
TENAX_HOST_DEVICE Pack<Accumulator<T>, kCount> sum_columns(Group group, const T* first, std::int64_t stride,
                                                           std::int64_t rows) {
  constexpr int kRowsAtOnce = 4;
  Pack<Accumulator<T>, kCount> sums{};
  for_packs<1, kRowsAtOnce>(
      group, rows, [&](std::int64_t row) { return load_raw<kCount>(first + row * stride); },
      [&](std::int64_t, const Raw<T, kCount>& raw) { sums = sums + widened(raw); });
  return group.sum(sums);
}

/// The second stage: output[columns] (+)= the sums over `count` chunks, each of which left a row of sums in
/// `partials`. Such a row may hold those of a second output behind those of the first.
template <class A>
struct ChunkSums {
  const A* partials;
  std::int64_t count, columns;
  A* output;
  A* second_output;  ///< or null
  bool accumulate;

  TENAX_HOST_DEVICE std::int64_t width() const { return second_output ? 2 * columns : columns; }
  TENAX_HOST_DEVICE A* place_of(std::int64_t column) const {
    return column < columns ? output + column : second_output + (column - columns);
  }
};

/// column in [0, width()); a column beyond gets nothing, but its threads must call this with the others of
/// their block.
template <class Group, class A>
TENAX_HOST_DEVICE void sum_chunks(Group group, const ChunkSums<A>& sums, std::int64_t column) {
  const bool exists = column < sums.width();
  const A total = sum_columns<1>(group, sums.partials + column, sums.width(), exists ? sums.count : 0).at[0];
  if (!exists || group.rank() != 0) return;
  A* const output = sums.place_of(column);
  *output = sums.accumulate ? *output + total : total;
}

}  // namespace tenax::kernels::cuda
