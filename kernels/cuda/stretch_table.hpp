// Many stretches of memory in one launch: a table of them is the kernel's parameter, and each block finds its
// own there. Runs on the host and on the GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/cuda/group.hpp"

namespace tenax::kernels::cuda {

/// What a kernel's parameters may take together, whatever the device and toolkit.
inline constexpr std::size_t kParameterBytes = 4096;

/// Piece has a `count` of elements. Piece i has blocks [first_block[i], first_block[i + 1]) of the launch.
template <class Piece, int kMostPieces>
struct StretchTable {
  static constexpr int kMost = kMostPieces;
  Piece pieces[kMost];
  std::uint32_t first_block[kMost + 1];
  int count;
};

/// The piece that `block` belongs to.
template <class Table>
TENAX_HOST_DEVICE int piece_of(const Table& table, std::uint32_t block) {
  int low = 0, high = table.count;  // first_block[low] ≤ block < first_block[high]
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (table.first_block[middle] <= block)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/// Calls launch(table, blocks) for as many tables as `pieces` take, in their order, those without elements
/// left out. A block has up to `block_elements` elements of one piece.
template <class Table, class Pieces, class Launch>
void for_tables(const Pieces& pieces, std::int64_t block_elements, const Launch& launch) {
  Table table{};
  const auto flush = [&] {
    if (table.count > 0) launch(std::as_const(table), table.first_block[table.count]);
    table.count = 0;
  };
  for (const auto& piece : pieces) {
    if (piece.count == 0) continue;
    if (table.count == Table::kMost) flush();
    const std::int64_t blocks = (piece.count + block_elements - 1) / block_elements;
    table.pieces[table.count] = piece;
    table.first_block[table.count + 1] = table.first_block[table.count] + static_cast<std::uint32_t>(blocks);
    ++table.count;
  }
  flush();
}

}  // namespace tenax::kernels::cuda
