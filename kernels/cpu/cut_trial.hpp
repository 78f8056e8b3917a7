// Which of several cuts of a matrix product is fastest, of those that write the same bits.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/cpu/product_cut.hpp"

namespace tenax::kernels {

/// What a trial does to one product.
struct CutTrial {
  std::function<void(const ProductCut&)> run;
  std::function<void()> restore;            ///< the result is again what it was before the first run
  std::function<std::uint64_t()> checksum;  ///< of the result
  std::function<double()> now_s;
};

/// `cuts` begins with the usual one: others must write its bits, and be faster by more than what times vary. Each runs once
/// for its bits and once for its time, the usual one and the fastest others twice more, in turn. A product whose usual cut
/// takes longer than `slow_s` is not tried further: the answer is the usual cut.
ProductCut fastest_cut(const std::vector<ProductCut>& cuts, const CutTrial& trial, double slow_s);

}  // namespace tenax::kernels
