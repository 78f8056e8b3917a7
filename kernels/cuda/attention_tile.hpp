// Tiles of the own attention kernels: what of a head's rows, in shared memory, and the two products
// between tiles.
//
// A tile's rows lie `stride` numbers apart: the row's length rounded up to four, and four more, so that eight
// threads that read four numbers of eight consecutive rows each use all 32 banks of fp32 once. Every product
// is a set of patches of rows × columns in registers, dealt to the threads by number; what a thread does for
// a patch depends on nothing but its number, so that one thread (on the host) computes the same bits as 128.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/cpu/element.hpp"
#include "kernels/cuda/group.hpp"

namespace tenax::kernels::cuda {

template <class Real>
struct alignas(16) Quad {
  Real at[4];
};

template <class Real>
TENAX_HOST_DEVICE Quad<Real> quad_at(const Real* source) {
  return *reinterpret_cast<const Quad<Real>*>(source);
}

TENAX_HOST_DEVICE constexpr int whole_quads(int columns) { return (columns + 3) / 4 * 4; }
TENAX_HOST_DEVICE constexpr int tile_stride(int columns) { return whole_quads(columns) + 4; }

/// One head of one sequence in a tensor: `length` rows of `columns` numbers, `row_stride` elements apart.
template <class Element>
struct HeadMatrix {
  Element* data;
  std::int64_t row_stride;
  int length, columns;
};

/// Rows [first, first + kRows) into a tile; zero beyond the head's rows and columns.
template <int kRows, class Group, class Real, class Element>
TENAX_HOST_DEVICE void load_tile(Group group, const HeadMatrix<const Element>& head, int first, Real* tile) {
  const int width = whole_quads(head.columns), stride = tile_stride(head.columns);
  for (int item = group.rank(); item < kRows * width; item += group.size()) {
    const int row = item / width, column = item % width;
    const bool inside = first + row < head.length && column < head.columns;
    tile[row * stride + column] =
        inside ? static_cast<Real>(widen(head.data[(first + row) * head.row_stride + column])) : Real(0);
  }
}

/// The tile's rows, each multiplied by factor(row), to rows [first, first + kRows) as far as they exist.
template <int kRows, class Group, class Real, class Element, class Factor>
TENAX_HOST_DEVICE void store_tile(Group group, const Real* tile, const HeadMatrix<Element>& head, int first,
                                  const Factor& factor) {
  const int stride = tile_stride(head.columns);
  for (int item = group.rank(); item < kRows * head.columns; item += group.size()) {
    const int row = item / head.columns, column = item % head.columns;
    if (first + row < head.length)
      head.data[(first + row) * head.row_stride + column] =
          narrow<Element>(tile[row * stride + column] * factor(row));
  }
}

template <int kRows, class Group, class Real>
TENAX_HOST_DEVICE void zero_tile(Group group, int columns, Real* tile) {
  for (int item = group.rank(); item < kRows * tile_stride(columns); item += group.size()) tile[item] = 0;
}

/// then(row, column, Σ a[row][k] · b[column][k]) for all of kRows × kColumns, k over `columns` of both
/// tiles. In patches of 4 × kPatch, of rows and columns that are spread out: neighbouring threads read
/// neighbouring rows.
template <int kRows, int kColumns, int kPatch, class Group, class Real, class Then>
TENAX_HOST_DEVICE void for_row_products(Group group, const Real* a, const Real* b, int columns,
                                        const Then& then) {
  constexpr int kDown = kRows / 4, kAcross = kColumns / kPatch;
  const int stride = tile_stride(columns);
  for (int item = group.rank(); item < kDown * kAcross; item += group.size()) {
    const int top = item / kAcross, left = item % kAcross;
    Real sum[4][kPatch] = {};
    for (int k = 0; k < columns; k += 4) {
      Quad<Real> of_b[kPatch];
      TENAX_UNROLL
      for (int c = 0; c < kPatch; ++c) of_b[c] = quad_at(b + (left + c * kAcross) * stride + k);
      TENAX_UNROLL
      for (int r = 0; r < 4; ++r) {
        const Quad<Real> of_a = quad_at(a + (top + r * kDown) * stride + k);
        TENAX_UNROLL
        for (int c = 0; c < kPatch; ++c) {
          TENAX_UNROLL
          for (int i = 0; i < 4; ++i) sum[r][c] += of_a.at[i] * of_b[c].at[i];
        }
      }
    }
    TENAX_UNROLL
    for (int r = 0; r < 4; ++r) {
      TENAX_UNROLL
      for (int c = 0; c < kPatch; ++c) then(top + r * kDown, left + c * kAcross, sum[r][c]);
    }
  }
}

/// c[row] = c[row] · factor(row) + Σ_k a[row][k] · b[k]: rows of b, weighted by a[kRows][kInner].
template <int kRows, int kInner, class Group, class Real, class Factor>
TENAX_HOST_DEVICE void add_weighted_rows(Group group, const Real* a, const Real* b, int columns, Real* c,
                                         const Factor& factor) {
  constexpr int kDown = kRows / 4, kWeightStride = tile_stride(kInner);
  const int stride = tile_stride(columns), across = whole_quads(columns) / 4;
  for (int item = group.rank(); item < kDown * across; item += group.size()) {
    const int top = item / across, column = item % across * 4;
    Quad<Real> sum[4] = {};
    for (int k = 0; k < kInner; k += 4) {
      Quad<Real> weights[4];
      TENAX_UNROLL
      for (int r = 0; r < 4; ++r) weights[r] = quad_at(a + (top + r * kDown) * kWeightStride + k);
      TENAX_UNROLL
      for (int i = 0; i < 4; ++i) {
        const Quad<Real> of_b = quad_at(b + (k + i) * stride + column);
        TENAX_UNROLL
        for (int r = 0; r < 4; ++r) {
          TENAX_UNROLL
          for (int j = 0; j < 4; ++j) sum[r].at[j] += weights[r].at[i] * of_b.at[j];
        }
      }
    }
    TENAX_UNROLL
    for (int r = 0; r < 4; ++r) {
      const int row = top + r * kDown;
      Quad<Real>& target = *reinterpret_cast<Quad<Real>*>(c + row * stride + column);
      const Real scale = factor(row);
      TENAX_UNROLL
      for (int j = 0; j < 4; ++j) target.at[j] = target.at[j] * scale + sum[r].at[j];
    }
  }
}

}  // namespace tenax::kernels::cuda
