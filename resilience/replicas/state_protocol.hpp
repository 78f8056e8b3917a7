// The messages with which state travels between equal ranks of two replicas.
//
//   fetching rank                                     serving rank
//     request: number = slice, sequence = done   ->
//                                                <-   slice: the same, and a payload: its bytes, then
//                                                     8 bytes with io's checksum of them
//                                                <-   gone: the state is not (any more) that after
//                                                     `done` steps
//
// Slices are asked for one ahead. A connection ends when the fetching rank closes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "io/checksum.hpp"

namespace tenax::resilience {

enum StateMessage : std::int32_t { kStateRequest = 1, kStateSlice = 2, kStateGone = 3 };

inline constexpr std::size_t kStateChecksumBytes = sizeof(std::uint64_t);

/// Of a slice's bytes.
inline std::uint64_t state_checksum(std::span<const std::byte> bytes) {
  return io::checksum_of_bytes(bytes, 0);
}

}  // namespace tenax::resilience
