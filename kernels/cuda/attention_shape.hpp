// The sizes of one attention operation.
#pragma once

#include <compare>
#include <cstdint>

#include "kernels/cuda/group.hpp"
#include "kernels/tensor.hpp"

namespace tenax::kernels::cuda {

struct AttentionShape {
  std::int64_t sequences;
  int length, heads, head_size;
  TENAX_HOST_DEVICE std::int64_t hidden() const { return static_cast<std::int64_t>(heads) * head_size; }
  /// Heads of all sequences, numbered by sequence, then head.
  TENAX_HOST_DEVICE std::int64_t count() const { return sequences * heads; }
  auto operator<=>(const AttentionShape&) const = default;
};

/// The shape of an operation whose output is [sequences, T, heads · head_size].
inline AttentionShape attention_shape_of(const Tensor& out, int heads) {
  assert(out.shape.rank() == 3 && heads > 0 && out.columns() % heads == 0);
  return {out.shape[0], static_cast<int>(out.shape[1]), heads, static_cast<int>(out.columns() / heads)};
}

}  // namespace tenax::kernels::cuda
