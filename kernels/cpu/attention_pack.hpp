// Copies between rows of one head in the activations and the unit layouts of attention_tile.hpp. Rows and
// columns beyond the data are zero, so that products may run over whole blocks.
#pragma once

#include <algorithm>
#include <bit>
#include <type_traits>

#include "kernels/cpu/attention_tile.hpp"
#include "kernels/cpu/element.hpp"
#include "kernels/cpu/matmul_scratch.hpp"

namespace tenax::kernels {

/// The bits of the nearest bf16, ties to even, in the upper half; the lower half is rubbish. For results of
/// arithmetic: their NaNs survive.
inline std::uint32_t rounded_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return bits + 0x7FFFu + ((bits >> 16) & 1u);
}

/// `count` rows of `columns` numbers, `stride` numbers apart.
template <class Element>
struct HeadRows {
  Element* data;
  std::ptrdiff_t stride;
  std::ptrdiff_t count, columns;
  HeadRows part(std::ptrdiff_t begin, std::ptrdiff_t rows) const {
    return {data + begin * stride, stride, rows, columns};
  }
};

/// rows → units[row][step], `stride` ≥ ⌈columns / numbers per unit⌉ units a row; for operand a.
template <class Tile, class Element>
void pack_rows(const HeadRows<const Element>& rows, std::ptrdiff_t stride, typename Tile::Unit* units) {
  const std::ptrdiff_t steps = (rows.columns + Tile::kNumbersPerUnit - 1) / Tile::kNumbersPerUnit;
  for (std::ptrdiff_t i = 0; i < rows.count; ++i, units += stride) {
    const Element* source = rows.data + i * rows.stride;
    if constexpr (Tile::kNumbersPerUnit == 2) {
      units[steps - 1] = 0;
      std::memcpy(units, source, static_cast<std::size_t>(rows.columns) * sizeof(Element));
    } else {
#pragma omp simd
      for (std::ptrdiff_t j = 0; j < rows.columns; ++j) units[j] = widen(source[j]);
    }
    std::fill(units + steps, units + stride, typename Tile::Unit{});
  }
}

/// result = the elements of a and b, numbered through, that `chosen` names.
template <class Row, class Lanes>
void shuffle(const Row& a, const Row& b, const Lanes& chosen, Row& result) {
#if __has_builtin(__builtin_shuffle)  // GCC's
  result = __builtin_shuffle(a, b, chosen);
#else
  constexpr int kLanes = sizeof(Lanes) / sizeof(chosen[0]);
  for (int l = 0; l < kLanes; ++l) result[l] = chosen[l] < kLanes ? a[chosen[l]] : b[chosen[l] - kLanes];
#endif
}

/// Transposes kLanes × kLanes units in registers: in turn, blocks of half, a quarter, … of the rows
/// swap corners.
template <class Tile>
void transpose_square(const typename Tile::Unit* from, std::ptrdiff_t from_stride, typename Tile::Unit* to,
                      std::ptrdiff_t to_stride) {
  constexpr int kLanes = Tile::kLanes;
  using Unit = typename Tile::Unit;
  using Index = std::conditional_t<sizeof(Unit) == 8, std::int64_t, std::int32_t>;
  typedef Unit Row __attribute__((vector_size(kVectorBytes)));
  typedef Index Lanes __attribute__((vector_size(kVectorBytes)));
  Row rows[kLanes];
  for (int i = 0; i < kLanes; ++i) std::memcpy(&rows[i], from + i * from_stride, kVectorBytes);
#pragma GCC unroll 4
  for (int half = kLanes / 2; half >= 1; half /= 2) {
    Lanes upper, lower;
#pragma GCC unroll 16
    for (int l = 0; l < kLanes; ++l) {
      upper[l] = l & half ? l - half + kLanes : l;
      lower[l] = l & half ? l + kLanes : l + half;
    }
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) {
      if (i & half) continue;
      const Row a = rows[i], b = rows[i + half];
      shuffle(a, b, upper, rows[i]);
      shuffle(a, b, lower, rows[i + half]);
    }
  }
  for (int i = 0; i < kLanes; ++i) std::memcpy(to + i * to_stride, &rows[i], kVectorBytes);
}

/// units[row][step] → result[step][row]: from operand a to its transpose as operand b. Whole blocks of rows,
/// and of steps in vectors; `stride` units from step to step of the result.
template <class Tile>
void transpose_units(const typename Tile::Unit* units, std::ptrdiff_t rows, std::ptrdiff_t steps,
                     std::ptrdiff_t stride, typename Tile::Unit* result) {
  for (std::ptrdiff_t i = 0; i < rows; i += Tile::kLanes)
    for (std::ptrdiff_t k = 0; k < steps; k += Tile::kLanes)
      transpose_square<Tile>(units + i * steps + k, steps, result + k * stride + i, stride);
}

/// rows → units[step][column], the inner index running over rows: operand b. `width` ≥ columns units a step;
/// filled up with zero steps to a whole block, which weights of zero may meet.
template <class Tile, class Element>
void pack_steps(const HeadRows<const Element>& rows, std::ptrdiff_t width, typename Tile::Unit* units) {
  for (std::ptrdiff_t i = 0; i < rows.count; i += Tile::kNumbersPerUnit, units += width) {
    const Element* source = rows.data + i * rows.stride;
    if constexpr (Tile::kNumbersPerUnit == 2) {
      const Element* next = source + rows.stride;
      const bool has_next = i + 1 < rows.count;
#pragma omp simd
      for (std::ptrdiff_t j = 0; j < rows.columns; ++j)
        units[j] = source[j].bits | (has_next ? static_cast<std::uint32_t>(next[j].bits) << 16 : 0u);
    } else {
#pragma omp simd
      for (std::ptrdiff_t j = 0; j < rows.columns; ++j) units[j] = widen(source[j]);
    }
    std::fill(units + rows.columns, units + width, typename Tile::Unit{});
  }
  constexpr std::ptrdiff_t kUnit = Tile::kNumbersPerUnit;
  const std::ptrdiff_t padding = (rounded_up(rows.count, Tile::kBlock) - rows.count) / kUnit;
  std::fill_n(units, padding * width, typename Tile::Unit{});
}

/// The sizes of one head's operands in units.
template <class Tile>
struct HeadUnits {
  explicit HeadUnits(std::ptrdiff_t head_size)
      : steps((head_size + Tile::kNumbersPerUnit - 1) / Tile::kNumbersPerUnit),
        stride(rounded_up(steps, Tile::kLanes)),
        width(rounded_up(head_size, Tile::kLanes)) {}
  std::ptrdiff_t steps;   ///< per row, when the inner index runs over the head's columns
  std::ptrdiff_t stride;  ///< from row to row of operand a
  std::ptrdiff_t width;   ///< per step of operand b, when the inner index runs over rows
};

/// The same rows as operand a and as operand b; for numbers that is the same memory.
template <class Tile>
class PackedRows {
 public:
  using Unit = typename Tile::Unit;

  template <class Element>
  void pack(const HeadRows<const Element>& rows, const HeadUnits<Tile>& units) {
    const std::ptrdiff_t padded = rounded_up(rows.count, Tile::kBlock);
    steps_.reserve(padded / Tile::kNumbersPerUnit * units.width);
    pack_steps<Tile>(rows, units.width, steps_.data());
    if constexpr (Tile::kNumbersPerUnit == 2) {
      rows_.reserve(padded * units.stride);
      pack_rows<Tile>(rows, units.stride, rows_.data());
    }
  }
  const Unit* rows() const { return Tile::kNumbersPerUnit == 2 ? rows_.data() : steps_.data(); }
  const Unit* steps() const { return steps_.data(); }

 private:
  ScratchArray<Unit> rows_, steps_;
};

/// numbers[row][`width`] · factor → rows.
template <class Real, class Element>
void store_rows(const Real* numbers, std::ptrdiff_t width, const HeadRows<Element>& rows, Real factor) {
  for (std::ptrdiff_t i = 0; i < rows.count; ++i) {
    Element* target = rows.data + i * rows.stride;
    const Real* source = numbers + i * width;
#pragma omp simd
    for (std::ptrdiff_t j = 0; j < rows.columns; ++j) target[j] = narrow<Element>(source[j] * factor);
  }
}

}  // namespace tenax::kernels
