// Windows of T + 1 tokens, of which the first T are inputs and the last T their targets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace tenax::model {

/// windows [sequences, length + 1] → inputs and targets [sequences, length].
inline void split_windows(std::span<const std::int32_t> windows, std::int64_t length, std::int32_t* inputs,
                          std::int32_t* targets) {
  const std::int64_t sequences = static_cast<std::int64_t>(windows.size()) / (length + 1);
  for (std::int64_t s = 0; s < sequences; ++s) {
    const auto first = windows.begin() + s * (length + 1);
    std::copy(first, first + length, inputs + s * length);
    std::copy(first + 1, first + 1 + length, targets + s * length);
  }
}

}  // namespace tenax::model
