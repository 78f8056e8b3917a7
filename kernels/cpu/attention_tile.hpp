// The products of attention, as register tiles: c[M, V vectors] (+)= Σ_k a(i, k) · b[k, :].
//
// Both operands consist of units, one unit per row and step of the inner index: a number for fp32 and fp64, a
// pair of consecutive bf16 numbers for the dot-product instruction. b lies as [step][column]; a as
// [row][step] or, transposed, as [step][row]: a is only ever broadcast, so that either order costs the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __AVX512BF16__
#include <immintrin.h>
#endif

namespace tenax::kernels {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

/// One bf16 number of a pair, which may be written by itself.
typedef std::uint16_t HalfUnit __attribute__((may_alias));

/// The blocks that a head is cut into, in rows or columns: whole tiles, whatever the tile's size.
struct VectorBlocks {
  static constexpr int kBlock = 48;
  static constexpr int kQueries = 2 * kBlock;  ///< of a block of the backward pass
  /// Rows of a step of the staircase along the diagonal.
  static constexpr int kStair = kVectorBytes == 32 ? 12 : 8;
  static constexpr int kScoreVectors = 3;  ///< how wide scores are computed at a time
  static constexpr int kSteps = 1;         ///< that a tile takes together
  static constexpr int kSpare = 16;        ///< zeros that a tile may read beyond a row
  struct Session {};                       ///< exists while a thread computes tiles
};

/// Units are numbers of type R.
template <class R>
struct NumberTile : VectorBlocks {
  using Real = R;
  using Unit = R;
  static constexpr int kNumbersPerUnit = 1;
  static constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(R));
  typedef R Sum __attribute__((vector_size(kVectorBytes)));
  typedef R Units __attribute__((vector_size(kVectorBytes)));
  static void broadcast(const Unit& unit, Units& units) { units = Units{} + unit; }
  static void multiply_add(const Units& a, const Units& b, Sum& sum) { sum += a * b; }
};

#ifdef __AVX512BF16__
/// Units are pairs of bf16 numbers, sums fp32.
struct Bf16PairTile : VectorBlocks {
  using Real = float;
  using Unit = std::uint32_t;
  static constexpr int kNumbersPerUnit = 2;
  static constexpr int kLanes = 16;
  using Sum = __m512;
  using Units = __m512i;
  static void broadcast(const Unit& unit, Units& units) { units = _mm512_set1_epi32(static_cast<int>(unit)); }
  static void multiply_add(const Units& a, const Units& b, Sum& sum) {
    sum = _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
  }
};
#endif

constexpr std::ptrdiff_t rounded_up(std::ptrdiff_t count, std::ptrdiff_t unit) {
  return (count + unit - 1) / unit * unit;
}

/// Where a product's operands lie; strides in units (a, b) and numbers (c).
template <class Tile>
struct TileProduct {
  const typename Tile::Unit* a;
  std::ptrdiff_t a_stride;
  const typename Tile::Unit* b;
  std::ptrdiff_t b_stride;
  typename Tile::Real* c;
  std::ptrdiff_t c_stride;
  std::ptrdiff_t steps;
  bool add;
};

template <class Tile, int M, int V, bool kTransposedA>
void multiply_tile(const TileProduct<Tile>& p) {
  typename Tile::Sum sums[M][V];
  for (int i = 0; i < M; ++i)
    for (int v = 0; v < V; ++v) {
      sums[i][v] = typename Tile::Sum{};
      if (p.add) std::memcpy(&sums[i][v], p.c + i * p.c_stride + v * Tile::kLanes, kVectorBytes);
    }
  const typename Tile::Unit* a = p.a;
  const typename Tile::Unit* b = p.b;
  const std::ptrdiff_t a_row = kTransposedA ? 1 : p.a_stride, a_step = kTransposedA ? p.a_stride : 1;
#pragma GCC unroll 1
  for (std::ptrdiff_t k = 0; k < p.steps; ++k, a += a_step, b += p.b_stride) {
    typename Tile::Units rows[V], factor;
    for (int v = 0; v < V; ++v) std::memcpy(&rows[v], b + v * Tile::kLanes, kVectorBytes);
    for (int i = 0; i < M; ++i) {
      Tile::broadcast(a[i * a_row], factor);
      for (int v = 0; v < V; ++v) Tile::multiply_add(factor, rows[v], sums[i][v]);
    }
  }
  for (int i = 0; i < M; ++i)
    for (int v = 0; v < V; ++v)
      std::memcpy(p.c + i * p.c_stride + v * Tile::kLanes, &sums[i][v], kVectorBytes);
}

/// Rows of a tile of V vectors: as many accumulators as the registers hold beside V vectors of b.
template <class Tile, int V>
constexpr int kTileRows = Tile::kSteps > 1               ? Tile::kLanes
                          : kVectorBytes == 64 && V == 4 ? 6
                          : kVectorBytes == 64           ? 8
                          : kVectorBytes == 32           ? 12 / V
                                                         : 4;
constexpr int kMaxTileVectors = kVectorBytes == 64 ? 4 : 2;

/// Half-open range of the inner index, in rows of b before they were packed into units.
struct InnerRange {
  std::ptrdiff_t begin, end;
};

template <class Tile, int V, bool kTransposedA, class Range>
void multiply_tiles(const TileProduct<Tile>& whole, std::ptrdiff_t rows, const Range& range) {
  constexpr int M = kTileRows<Tile, V>, kUnit = Tile::kNumbersPerUnit, kSteps = Tile::kSteps;
  static_assert(Tile::kBlock % M == 0 && Tile::kQueries % M == 0);
  for (std::ptrdiff_t i = 0; i < rows; i += M) {
    const InnerRange inner = range(i, i + M);
    if (inner.begin >= inner.end) continue;
    const std::ptrdiff_t first = inner.begin / kUnit / kSteps * kSteps;
    TileProduct<Tile> p = whole;
    p.a += kTransposedA ? first * p.a_stride + i : i * p.a_stride + first;
    p.b += first * p.b_stride;
    p.c += i * p.c_stride;
    p.steps = rounded_up(inner.end, kUnit * kSteps) / kUnit - first;
    if constexpr (kSteps > 1)
      Tile::template multiply_tile<V, kTransposedA>(p);
    else
      multiply_tile<Tile, M, V, kTransposedA>(p);
  }
}

/// The product over `rows` (rounded up to whole tiles) and `columns` (rounded up to whole vectors), at most
/// `kPanel` vectors wide at a time. range(i, j) says which part of the inner index rows [i, j) need; where it
/// is empty, c stays as it is. Whole steps of a tile are computed: one of the operands is zero beyond the range.
template <class Tile, bool kTransposedA, int kPanel = kMaxTileVectors, class Range>
void multiply(TileProduct<Tile> p, std::ptrdiff_t rows, std::ptrdiff_t columns, const Range& range) {
  constexpr int kWidest = kPanel < kMaxTileVectors ? kPanel : kMaxTileVectors;
  for (std::ptrdiff_t vectors = (columns + Tile::kLanes - 1) / Tile::kLanes; vectors > 0;
       vectors -= kWidest) {
    const std::ptrdiff_t width = vectors < kWidest ? vectors : kWidest;
    if (width == 1) multiply_tiles<Tile, 1, kTransposedA>(p, rows, range);
    if (width == 2) multiply_tiles<Tile, 2, kTransposedA>(p, rows, range);
    if constexpr (kWidest >= 3)
      if (width == 3) multiply_tiles<Tile, 3, kTransposedA>(p, rows, range);
    if constexpr (kWidest >= 4)
      if (width == 4) multiply_tiles<Tile, 4, kTransposedA>(p, rows, range);
    p.b += kWidest * Tile::kLanes;
    p.c += kWidest * Tile::kLanes;
  }
}

}  // namespace tenax::kernels
