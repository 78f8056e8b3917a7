// The one way the loops of this folder become parallel: fixed blocks handed to Kokkos.
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>

#include "kernels/cpu/floating_point_mode.hpp"

namespace tenax::kernels {

/// Elements of a flat tensor, and rows of a matrix, that one call of a functor gets: enough to hide the call,
/// few enough to share among threads. Constants, so that results do not depend on the number of threads.
inline constexpr std::int64_t kElementBlock = 8192;
inline constexpr std::int64_t kRowBlock = 32;

/// Calls body(begin, end) for each block [begin, end) of [0, count), in any order and possibly at once. The
/// body loops inside, over pointers it holds by value: a functor called per element would not be vectorised.
/// Only parallel_for is used, never parallel_reduce, whose Serial scratch is shared by all threads of a
/// process.
template <class Body>
void for_blocks(std::int64_t count, std::int64_t block, const Body& body) {
  using Policy = Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  const std::int64_t blocks = (count + block - 1) / block;
  Kokkos::parallel_for(Policy(0, blocks), [=](const std::int64_t index) {
    flush_denormals();  // the threads of Kokkos are not those of the streams
    body(index * block, std::min(count, (index + 1) * block));
  });
}

}  // namespace tenax::kernels
