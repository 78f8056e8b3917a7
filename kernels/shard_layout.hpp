// ShardLayout: which elements of a logical (unsharded) tensor one rank of a tensor-parallel
// group holds.
#pragma once

#include <cstdint>
#include <functional>

#include "kernels/tensor.hpp"

namespace tenax::kernels {

/// A logical tensor of one or two dimensions, cut along `axis` into `parts` equal parts, of which
/// this is part `index`. With `sections` > 1 the axis holds that many blocks side by side (q, k, v
/// in c_attn), each cut on its own, so that a part holds its share of every block. `padded_extent`
/// ≥ the axis' logical extent makes the cut even (vocabulary): elements beyond the logical extent
/// exist locally, are zero, and belong to no logical index.
struct ShardLayout {
  Shape logical;
  int axis = 0;
  int parts = 1;
  int index = 0;
  int sections = 1;
  std::int64_t padded_extent = 0;  ///< extent of `axis` with padding; 0 = its logical extent

  Shape local() const;  ///< shape of this part, padding included

  /// A stretch of elements that is contiguous both in the local part and in the logical tensor
  /// (flat indices).
  struct Run {
    std::int64_t local_begin, logical_begin, count;
  };
  /// Calls `visit` for the runs of local flat elements [begin, end), in increasing local order;
  /// padding is left out.
  void for_each_run(std::int64_t begin, std::int64_t end, const std::function<void(const Run&)>& visit) const;
};

}  // namespace tenax::kernels
