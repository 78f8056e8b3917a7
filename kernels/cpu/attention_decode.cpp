// Attention of one new position. The cache is read once, key by key and value by value: memory sets the pace.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/cpu_stream.hpp"
#include "kernels/cpu/element.hpp"
#include "kernels/cpu/exponential.hpp"
#include "kernels/cpu/thread_team.hpp"

namespace tenax::kernels {
namespace {

/// Keys, or values, of one head: `count` rows of `columns` numbers, `stride` numbers apart.
template <class T>
struct CachedRows {
  const T* data;
  std::int64_t stride, count, columns;
};

/// scores[j] = scale · q · key j. Returns the largest.
template <class T, class A>
A score(const T* q, const CachedRows<T>& keys, A scale, A* scores) {
  A maximum = 0;
  for (std::int64_t j = 0; j < keys.count; ++j) {
    const T* const key = keys.data + j * keys.stride;
    A sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < keys.columns; ++i) sum += widen(q[i]) * widen(key[i]);
    scores[j] = sum * scale;
    maximum = j == 0 || scores[j] > maximum ? scores[j] : maximum;
  }
  return maximum;
}

/// scores → exp(score − maximum). Returns their sum.
template <class A>
A exponentiate(A* scores, std::int64_t count, A maximum) {
  A sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t j = 0; j < count; ++j) {
    scores[j] = exponential_up_to_one(scores[j] - maximum);
    sum += scores[j];
  }
  return sum;
}

/// out = factor · Σ weights[j] · value j; sums: scratch.
template <class T, class A>
void add_values(const A* weights, const CachedRows<T>& values, A factor, A* sums, T* out) {
  std::fill_n(sums, values.columns, A(0));
  for (std::int64_t j = 0; j < values.count; ++j) {
    const T* const value = values.data + j * values.stride;
    const A weight = weights[j];
#pragma omp simd
    for (std::int64_t i = 0; i < values.columns; ++i) sums[i] += weight * widen(value[i]);
  }
#pragma omp simd
  for (std::int64_t i = 0; i < values.columns; ++i) out[i] = narrow<T>(sums[i] * factor);
}

}  // namespace

void CpuKernels::attention_decode(Stream& stream, const AttentionDecodeArgs& args) {
  const std::int64_t hidden = args.out.columns(), size = hidden / args.heads, length = args.qkv.shape[0];
  assert(length > 0 && args.qkv.columns() == 3 * hidden && size * args.heads == hidden);
  with_type(args.out.dtype, [&](auto type) {
    using T = decltype(type);
    using A = Accumulator<T>;
    const T* const qkv = args.qkv.as<T>();
    T* const out = args.out.as<T>();
    std::vector<A> scratch(static_cast<std::size_t>(args.heads * (length + size)));
    A* const scores = scratch.data();
    const A scale = static_cast<A>(1.0 / std::sqrt(static_cast<double>(size)));
    ThreadTeam& team = team_of(stream);
    const int members = team.members_for(static_cast<std::int64_t>(args.qkv.bytes()));
    team.run(args.heads, members, [=](std::int64_t head, int) {
      A* const weights = scores + head * (length + size);
      const CachedRows<T> keys{qkv + hidden + head * size, 3 * hidden, length, size};
      const CachedRows<T> values{keys.data + hidden, 3 * hidden, length, size};
      const A maximum = score(qkv + (length - 1) * 3 * hidden + head * size, keys, scale, weights);
      const A sum = exponentiate(weights, length, maximum);
      add_values(weights, values, 1 / sum, weights + length, out + head * size);
    });
  });
}

}  // namespace tenax::kernels
