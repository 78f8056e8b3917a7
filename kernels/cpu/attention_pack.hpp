// Copies between rows of one head in the activations and the unit layouts of attention_tile.hpp. Rows and columns
// beyond the data are zero, so that products may run over whole blocks.
#pragma once

#include <algorithm>
#include <bit>
#include <type_traits>

#include "kernels/cpu/attention_tile.hpp"
#include "kernels/tensor.hpp"

namespace tenax::kernels {

inline float to_real(bf16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}
inline float to_real(float value) { return value; }
inline double to_real(double value) { return value; }

/// The bits of the nearest bf16, ties to even, in the upper half; the lower half is rubbish.
inline std::uint32_t rounded_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return bits + 0x7FFFu + ((bits >> 16) & 1u);
}
inline void from_real(float value, bf16_t& result) {
  result.bits = static_cast<std::uint16_t>(rounded_bits(value) >> 16);
}
inline void from_real(float value, float& result) { result = value; }
inline void from_real(double value, double& result) { result = value; }

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

/// rows → units[row][step], `steps` = ⌈columns / numbers per unit⌉; for operand a.
template <class Tile, class Element>
void pack_rows(const HeadRows<const Element>& rows, std::ptrdiff_t steps, typename Tile::Unit* units) {
  for (std::ptrdiff_t i = 0; i < rows.count; ++i) {
    const Element* source = rows.data + i * rows.stride;
    if constexpr (Tile::kNumbersPerUnit == 2) {
      units[i * steps + steps - 1] = 0;
      std::memcpy(units + i * steps, source, static_cast<std::size_t>(rows.columns) * sizeof(Element));
    } else {
#pragma omp simd
      for (std::ptrdiff_t j = 0; j < rows.columns; ++j) units[i * steps + j] = to_real(source[j]);
    }
  }
}

/// rows → units[step][row], `row_stride` ≥ rows.count units from step to step: the transposed matrix as operand b.
template <class Tile, class Element>
void pack_transposed(const HeadRows<const Element>& rows, std::ptrdiff_t steps, std::ptrdiff_t row_stride,
                     typename Tile::Unit* units) {
  for (std::ptrdiff_t i = 0; i < rows.count; ++i) {
    const Element* source = rows.data + i * rows.stride;
    for (std::ptrdiff_t k = 0; k < steps; ++k) {
      if constexpr (Tile::kNumbersPerUnit == 2) {
        const std::uint32_t low = source[2 * k].bits;
        const std::uint32_t high = 2 * k + 1 < rows.columns ? source[2 * k + 1].bits : 0u;
        units[k * row_stride + i] = low | high << 16;
      } else {
        units[k * row_stride + i] = to_real(source[k]);
      }
    }
  }
}

/// rows → units[step][column], the inner index running over rows: operand b. `width` ≥ columns units a step; filled up
/// with zero steps to a whole block, which weights of zero may meet.
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
      for (std::ptrdiff_t j = 0; j < rows.columns; ++j) units[j] = to_real(source[j]);
    }
    std::fill(units + rows.columns, units + width, typename Tile::Unit{});
  }
  constexpr std::ptrdiff_t kUnit = Tile::kNumbersPerUnit;
  const std::ptrdiff_t padding = (kBlock - rows.count % kBlock) % kBlock / kUnit;
  std::fill_n(units, padding * width, typename Tile::Unit{});
}

/// numbers[row][`width`] · factor → rows.
template <class Real, class Element>
void store_rows(const Real* numbers, std::ptrdiff_t width, const HeadRows<Element>& rows, Real factor) {
  for (std::ptrdiff_t i = 0; i < rows.count; ++i) {
    Element* target = rows.data + i * rows.stride;
    const Real* source = numbers + i * width;
#pragma omp simd
    for (std::ptrdiff_t j = 0; j < rows.columns; ++j) from_real(source[j] * factor, target[j]);
  }
}

}  // namespace tenax::kernels
