// How the loops of this folder run: fixed blocks handed to a team, or to Kokkos where there is none, and sums
// along a row that lies in the first-level cache.
#pragma once

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/cpu_stream.hpp"
#include "kernels/cpu/element.hpp"
#include "kernels/cpu/thread_team.hpp"

namespace tenax::kernels {

/// Elements of a flat tensor, and rows of a matrix, that one call of a functor gets: enough to hide the call,
/// few enough to share among threads. Constants, so that results do not depend on the number of threads.
inline constexpr std::int64_t kElementBlock = 8192;
inline constexpr std::int64_t kRowBlock = 32;

/// Calls body(begin, end) for each block [begin, end) of [0, count), in any order, by the members of the
/// stream's team at once. The body loops inside, over pointers it holds by value: a functor called per element
/// would not be vectorised. Only parallel_for is used, never parallel_reduce, whose Serial scratch is shared by
/// all threads of a process.
template <class Body>
void for_blocks(Stream& stream, std::int64_t count, std::int64_t block, const Body& body) {
  const std::int64_t blocks = (count + block - 1) / block;
  // Compiled once for both ways below: where the compiler may reassociate sums, two copies can differ in bits.
  const auto run = [=](std::int64_t index) __attribute__((noinline)) {
    body(index * block, std::min(count, (index + 1) * block));
  };
  flush_denormals();
  ThreadTeam& team = team_of(stream);
  if (team.size() > 1 && blocks > 1)
    team.run(blocks, team.size(), [&](std::int64_t index, int) { run(index); });
  else
    Kokkos::parallel_for(Kokkos::RangePolicy<Kokkos::Serial, Kokkos::IndexType<std::int64_t>>(0, blocks),
                         run);
}

/// out = x + delta + bias, of one row.
template <class T>
void residual_row(const T* x, const T* delta, const T* bias, T* out, std::int64_t columns) {
#pragma omp simd
  for (std::int64_t i = 0; i < columns; ++i)
    out[i] = narrow<T>(widen(x[i]) + (widen(delta[i]) + widen(bias[i])));
}

/// Σ f(i) over [0, count). Four running vectors, one for each quarter: a single one would wait for its
/// own latency.
template <class A, class Term>
A sum_of(std::int64_t count, const Term f) {
  const std::int64_t quarter = count / 4;
  A s0 = 0, s1 = 0, s2 = 0, s3 = 0;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
  for (std::int64_t i = 0; i < quarter; ++i) {
    s0 += f(i);
    s1 += f(i + quarter);
    s2 += f(i + 2 * quarter);
    s3 += f(i + 3 * quarter);
  }
  for (std::int64_t i = 4 * quarter; i < count; ++i) s0 += f(i);
  return (s0 + s1) + (s2 + s3);
}

}  // namespace tenax::kernels
