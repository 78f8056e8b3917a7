// The sizes of one attention operation.
#pragma once

#include <compare>
#include <cstdint>

#include "kernels/cuda/group.hpp"

namespace tenax::kernels::cuda {

struct AttentionShape {
  std::int64_t sequences;
  int length, heads, head_size;
  TENAX_HOST_DEVICE std::int64_t hidden() const { return static_cast<std::int64_t>(heads) * head_size; }
  /// Heads of all sequences, numbered by sequence, then head.
  TENAX_HOST_DEVICE std::int64_t count() const { return sequences * heads; }
  auto operator<=>(const AttentionShape&) const = default;
};

}  // namespace tenax::kernels::cuda
