// Σ x² in fp64 over many stretches, in two stages: of slices, then of the slices' sums. The order is fixed by
// the stretches' lengths and alignment alone.
#pragma once

#include <span>
#include <vector>

#include "kernels/cuda/stretch_table.hpp"
#include "kernels/cuda/vector16.hpp"
#include "kernels/tensor.hpp"

namespace tenax::kernels::cuda {

template <class T>
struct SquarePiece {
  const T* x;
  std::int64_t count;
  bool is_packed;  ///< x is aligned for accesses of kWidth elements
};

/// The stretches of one launch; a block has a slice of one.
template <class T>
using SquareTable = StretchTable<SquarePiece<T>, 140>;
static_assert(sizeof(SquareTable<float>) + sizeof(std::int64_t) + sizeof(double*) <= kParameterBytes);

/// Tensors that lie one behind the other become one piece.
template <class T>
std::vector<SquarePiece<T>> square_pieces(std::span<const Tensor> parts) {
  std::vector<SquarePiece<T>> pieces;
  for (const Tensor& part : parts) {
    const T* const x = part.as<T>();
    if (!pieces.empty() && pieces.back().x + pieces.back().count == x)
      pieces.back().count += part.size();
    else
      pieces.push_back({x, part.size(), are_aligned(x)});
  }
  return pieces;
}

/// Elements [begin, end) of x, kCount at a time and the rest one by one.
template <int kCount, class Group, class T>
TENAX_HOST_DEVICE double square_sum(Group group, const T* x, std::int64_t begin, std::int64_t end) {
  constexpr int kReadsUnderWay = 4;
  double sum = 0;
  const auto add = [&sum](const auto& values) {
    TENAX_UNROLL
    for (const auto value : values.at) sum += static_cast<double>(value) * static_cast<double>(value);
  };
  const std::int64_t packed = (end - begin) / kCount * kCount;
  for_packs<kCount, kReadsUnderWay>(
      group, packed, [&](std::int64_t at) { return load_raw<kCount>(x + begin + at); },
      [&](std::int64_t, const Raw<T, kCount>& raw) { add(widened(raw)); });
  for (std::int64_t at = begin + packed + group.rank(); at < end; at += group.size()) add(load<1>(x + at));
  return group.sum(sum);
}

/// The sum of squares of the slice that block number `block` of the table's launch has.
template <class Group, class T>
TENAX_HOST_DEVICE double square_sum_of_block(Group group, const SquareTable<T>& table, std::int64_t slice,
                                             std::uint32_t block) {
  const int index = piece_of(table, block);
  const SquarePiece<T>& piece = table.pieces[index];
  const std::int64_t begin = (block - table.first_block[index]) * slice;
  const std::int64_t end = begin + slice < piece.count ? begin + slice : piece.count;
  if constexpr (sizeof(T) <= 4)
    if (piece.is_packed) return square_sum<kWidth>(group, piece.x, begin, end);
  return square_sum<1>(group, piece.x, begin, end);
}

template <class Group>
TENAX_HOST_DEVICE double plain_sum(Group group, const double* values, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = group.rank(); i < count; i += group.size()) sum += values[i];
  return group.sum(sum);
}

}  // namespace tenax::kernels::cuda
