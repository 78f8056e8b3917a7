// Sums along a row that lies in the first-level cache.
#pragma once

#include <cstdint>

#include "kernels/cpu/element.hpp"

namespace tenax::kernels {

/// Σ f(i) over [0, count). Four running vectors, one for each quarter: a single one would wait for its own
/// latency.
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
