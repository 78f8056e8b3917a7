// What a group of threads computes of the embedding's gradients: of a tile of the tokens sorted by number, of
// a token whose rows cross tiles, and of a position. Runs on the host and on the GPU.
#pragma once

#include <cstdint>

#include "kernels/cuda/embedding_body.hpp"

namespace tenax::kernels::cuda {

/// The tokens of a microbatch in the order of their `keys`: local token numbers, and `vocab` for all of other
/// shards. rows[i] is the row of d_x that the i-th belongs to. partial [tiles][2][columns]: of each tile the
/// sum of the run of equal keys that came from the tile before, and of the one that begins here and goes on
/// in the next.
template <class T, class A = Accumulator<T>>
struct SortedTokens {
  const std::uint32_t* keys;
  const std::int32_t* rows;
  std::int64_t count;
  const T* d_x;
  A *d_wte, *partial;
  std::int64_t columns;
  std::uint32_t vocab;
};

/// Tokens of a tile, and how many rows a thread loads before it adds the first.
inline constexpr std::int64_t kTokenTile = 32;
inline constexpr int kRowLoads = 8;

constexpr std::int64_t token_tiles(std::int64_t tokens) { return (tokens + kTokenTile - 1) / kTokenTile; }

template <class T, class A>
TENAX_HOST_DEVICE A* partial_row(const SortedTokens<T, A>& s, std::int64_t tile, int which) {
  return s.partial + (2 * tile + which) * s.columns;
}

/// Whether the tokens on both sides of `at` are in one run.
template <class T, class A>
TENAX_HOST_DEVICE bool run_crosses(const SortedTokens<T, A>& s, std::int64_t at) {
  return at > 0 && at < s.count && s.keys[at - 1] == s.keys[at];
}

template <int kCount, class A>
TENAX_HOST_DEVICE void add_to_memory(A* destination, const Pack<A, kCount>& value) {
  store(destination, load<kCount>(destination) + value);
}

/// The sum of the run [begin, end) of tile `tile` has been made; `column` is its first.
template <int kCount, class T, class A>
TENAX_HOST_DEVICE void finish_run(const SortedTokens<T, A>& s, std::int64_t tile, std::int64_t begin,
                                  std::int64_t end, std::int64_t column, const Pack<A, kCount>& sum) {
  const std::uint32_t key = s.keys[begin];
  if (key == s.vocab) return;
  if (begin == tile * kTokenTile && run_crosses(s, begin))
    store(partial_row(s, tile, 0) + column, sum);
  else if (end == (tile + 1) * kTokenTile && run_crosses(s, end))
    store(partial_row(s, tile, 1) + column, sum);
  else
    add_to_memory(s.d_wte + key * s.columns + column, sum);
}

/// Calls use(i, row) for each i in [begin, end), in this order, with the kCount elements at row_at(i): reads
/// of several rows are under way at once.
template <int kCount, class RowAt, class Use>
TENAX_HOST_DEVICE void for_rows(std::int64_t begin, std::int64_t end, const RowAt& row_at, const Use& use) {
  std::int64_t i = begin;
  for (; i + kRowLoads <= end; i += kRowLoads) {
    decltype(load_raw<kCount>(row_at(i))) loaded[kRowLoads];
    TENAX_UNROLL
    for (int k = 0; k < kRowLoads; ++k) loaded[k] = load_raw<kCount>(row_at(i + k));
    TENAX_UNROLL
    for (int k = 0; k < kRowLoads; ++k) use(i + k, widened(loaded[k]));
  }
  for (; i < end; ++i) use(i, load<kCount>(row_at(i)));
}

/// One tile: adds the runs that lie within it to d_wte, and leaves the sums of the others in `partial`.
template <int kCount, class Group, class T, class A>
TENAX_HOST_DEVICE void sum_token_tile(Group group, const SortedTokens<T, A>& s, std::int64_t tile) {
  const std::int64_t first = tile * kTokenTile;
  const std::int64_t end = first + kTokenTile < s.count ? first + kTokenTile : s.count;
  if (s.keys[first] == s.vocab) return;
  for (std::int64_t column = group.rank() * kCount; column < s.columns; column += group.size() * kCount) {
    Pack<A, kCount> sum{};
    std::int64_t run = first;
    for_rows<kCount>(
        first, end, [&](std::int64_t i) { return s.d_x + s.rows[i] * s.columns + column; },
        [&](std::int64_t i, const Pack<A, kCount>& row) {
          if (i > first && !run_crosses(s, i)) {
            finish_run(s, tile, run, i, column, sum);
            sum = {};
            run = i;
          }
          sum = sum + row;
        });
    finish_run(s, tile, run, end, column, sum);
  }
}

/// Σ of the kCount elements at row_at(0), …, row_at(count − 1), in this order.
template <int kCount, class A, class RowAt>
TENAX_HOST_DEVICE Pack<A, kCount> sum_of_rows(std::int64_t count, const RowAt& row_at) {
  Pack<A, kCount> sum{};
  for_rows<kCount>(0, count, row_at, [&](std::int64_t, const Pack<A, kCount>& row) { sum = sum + row; });
  return sum;
}

/// The first place in [begin, s.count) whose key is above `key`.
template <class T, class A>
TENAX_HOST_DEVICE std::int64_t end_of_run(const SortedTokens<T, A>& s, std::int64_t begin,
                                          std::uint32_t key) {
  std::int64_t end = s.count;
  while (begin < end) {
    const std::int64_t middle = begin + (end - begin) / 2;
    if (s.keys[middle] > key)
      end = middle;
    else
      begin = middle + 1;
  }
  return end;
}

/// After all tiles: where a run begins in this one and goes on in others, adds its partial sums to d_wte.
template <int kCount, class Group, class T, class A>
TENAX_HOST_DEVICE void join_token_tiles(Group group, const SortedTokens<T, A>& s, std::int64_t tile) {
  const std::int64_t first = tile * kTokenTile, next = first + kTokenTile;
  if (!run_crosses(s, next)) return;
  const std::uint32_t key = s.keys[next];
  const bool began_before = s.keys[first] == key && run_crosses(s, first);
  if (key == s.vocab || began_before) return;
  const std::int64_t tiles = (end_of_run(s, next, key) - 1) / kTokenTile - tile + 1;
  for (std::int64_t column = group.rank() * kCount; column < s.columns; column += group.size() * kCount)
    add_to_memory(s.d_wte + key * s.columns + column, sum_of_rows<kCount, A>(tiles, [&](std::int64_t i) {
                    return partial_row(s, tile + i, i == 0 ? 1 : 0) + column;
                  }));
}

/// d_wpe of one position, over sequences of `length` tokens.
template <int kCount, class Group, class T, class A>
TENAX_HOST_DEVICE void sum_position(Group group, const T* d_x, A* d_wpe, std::int64_t sequences,
                                    std::int64_t length, std::int64_t columns, std::int64_t position) {
  for (std::int64_t column = group.rank() * kCount; column < columns; column += group.size() * kCount)
    add_to_memory(d_wpe + position * columns + column, sum_of_rows<kCount, A>(sequences, [&](std::int64_t i) {
                    return d_x + (i * length + position) * columns + column;
                  }));
}

}  // namespace tenax::kernels::cuda
