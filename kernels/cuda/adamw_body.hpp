// What the threads of a block compute of an AdamW update. Runs on the host and on the GPU.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/adamw_coefficients.hpp"
#include "kernels/cuda/group.hpp"
#include "kernels/cuda/stochastic_rounding.hpp"
#include "kernels/cuda/vector16.hpp"

namespace tenax::kernels::cuda {

/// Pointers into `count` consecutive elements; compute may be null.
template <class T, class A = Accumulator<T>>
struct AdamWUpdate {
  A* master;
  const A* gradient;
  A *exp_avg, *exp_avg_sq;
  T* compute;
  std::int64_t count;
  AdamWCoefficients<A> coefficients;
  bool stochastic;
  std::uint64_t seed;
  std::int64_t step, first_element;
};

/// Elements of one block.
inline constexpr std::int64_t kAdamWBlock = 1024;

/// How many elements a thread updates together: 16 bytes of each fp32 tensor, 8 of the bf16 copy.
inline constexpr int kAdamWWidth = 4;

struct alignas(8) FourBf16 {
  std::uint32_t low, high;
};

template <class T, class A, int kCount>
TENAX_HOST_DEVICE void store_copy(T* destination, const Pack<A, kCount>& values) {
  if constexpr (std::is_same_v<T, bf16_t> && kCount == kAdamWWidth)
    *reinterpret_cast<FourBf16*>(destination) = {narrow_word<T>(values.at), narrow_word<T>(values.at + 2)};
  else
    store(destination, values);
}

/// The new weights [begin, begin + kCount) as floats that bf16 holds, one of each one's two neighbours.
template <int kCount>
TENAX_HOST_DEVICE Pack<float, kCount> rounded_at_random(const AdamWUpdate<bf16_t>& u,
                                                        const Pack<float, kCount>& weights,
                                                        std::int64_t begin) {
  const std::int64_t element = u.first_element + begin;
  const PhiloxBlock bits = rounding_bits(u.seed, u.step, element / kRoundingBlock);
  const int first = kCount == kRoundingBlock ? 0 : static_cast<int>(element % kRoundingBlock);
  Pack<float, kCount> result;
  TENAX_UNROLL
  for (int k = 0; k < kCount; ++k) result.at[k] = round_at_random(weights.at[k], bits_at(bits, first + k));
  return result;
}

/// Elements [begin, begin + kCount), begin and first_element multiples of kCount.
template <int kCount, class T, class A>
TENAX_HOST_DEVICE void update_pack(const AdamWUpdate<T, A>& u, std::int64_t begin) {
  const AdamWCoefficients<A>& c = u.coefficients;
  const auto gradient = load<kCount>(u.gradient + begin);
  auto m = load<kCount>(u.exp_avg + begin), v = load<kCount>(u.exp_avg_sq + begin);
  auto w = load<kCount>(u.master + begin);
  TENAX_UNROLL
  for (int k = 0; k < kCount; ++k) {
    const A g = gradient.at[k] * c.gradient_scale;
    m.at[k] = c.beta1 * m.at[k] + c.one_minus_beta1 * g;
    v.at[k] = c.beta2 * v.at[k] + c.one_minus_beta2 * g * g;
    w.at[k] = c.decay * w.at[k] - c.step_size * m.at[k] / (std::sqrt(v.at[k]) * c.root_scale + c.epsilon);
  }
  store(u.exp_avg + begin, m);
  store(u.exp_avg_sq + begin, v);
  store(u.master + begin, w);
  if (!u.compute) return;
  if constexpr (std::is_same_v<T, bf16_t>)
    if (u.stochastic) w = rounded_at_random(u, w, begin);
  store_copy(u.compute + begin, w);
}

/// Elements [block · kAdamWBlock, (block + 1) · kAdamWBlock) of those there are, kCount at a time (1 where the tensors
/// are not aligned).
template <int kCount, class Group, class T, class A>
TENAX_HOST_DEVICE void adamw_block(Group group, const AdamWUpdate<T, A>& u, std::int64_t block) {
  static_assert(kRoundingBlock % kCount == 0 && kAdamWBlock % kCount == 0);
  const std::int64_t first = block * kAdamWBlock;
  const std::int64_t count = u.count - first < kAdamWBlock ? u.count - first : kAdamWBlock;
  const std::int64_t packed = count / kCount * kCount;
  for (std::int64_t i = group.rank() * kCount; i < packed; i += group.size() * kCount)
    update_pack<kCount>(u, first + i);
  for (std::int64_t i = packed + group.rank(); i < count; i += group.size()) update_pack<1>(u, first + i);
}

}  // namespace tenax::kernels::cuda
