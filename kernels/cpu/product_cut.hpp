// ProductCut: the pieces that a matrix product is computed in, from which memory, and which are tried.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>

namespace tenax::kernels {

/// The most rows and columns of the result that one piece has; 0: all of them. Inner indices are never cut by it: each number
/// of the result is one piece's.
struct ProductCut {
  std::int64_t rows = 0, columns = 0;
  bool packs_b =
      false;  ///< the second operand is copied before, into rows that begin in different sets of a cache
  auto operator<=>(const ProductCut&) const = default;
};

/// Where a choice is kept: the cut that the product has without one.
inline constexpr ProductCut kUsualCut{-1, -1}, kUsualCutPacked{-1, -1, true};

/// Those worth a trial, beside the usual one and the usual one packed.
inline constexpr std::array kTriedCuts{ProductCut{0, 0},      ProductCut{0, 2048}, ProductCut{0, 1024},
                                       ProductCut{0, 512},    ProductCut{384, 0},  ProductCut{256, 0},
                                       ProductCut{256, 1024}, ProductCut{128, 0},  ProductCut{128, 512}};

/// How long pieces of an extent are that have `longest` at most (0: uncut): all but the last alike, of whole vectors.
inline std::int64_t piece_of(std::int64_t extent, std::int64_t longest) {
  if (longest == 0 || extent <= longest) return extent;
  constexpr std::int64_t kVector = 32;
  const std::int64_t pieces = (extent + longest - 1) / longest;
  return ((extent + pieces - 1) / pieces + kVector - 1) / kVector * kVector;
}

}  // namespace tenax::kernels
