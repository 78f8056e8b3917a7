// What the threads of a block compute of an AdamW update. Runs on the host and on the GPU.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/adamw_coefficients.hpp"
#include "kernels/cuda/group.hpp"
#include "kernels/cuda/stochastic_rounding.hpp"
#include "kernels/cuda/stretch_table.hpp"
#include "kernels/cuda/vector16.hpp"
#include "kernels/kernels.hpp"

namespace tenax::kernels::cuda {

/// Pointers into `count` consecutive elements; compute may be null.
template <class T, class A = Accumulator<T>>
struct AdamWPiece {
  A* master;
  const A* gradient;
  A *exp_avg, *exp_avg_sq;
  T* compute;
  std::int64_t count, first_element;
  bool decays;
  bool is_packed;  ///< the tensors are aligned for accesses of kAdamWWidth elements
};

/// What a block works by.
template <class T, class A = Accumulator<T>>
struct AdamWUpdate {
  AdamWPiece<T> at;
  AdamWCoefficients<A> coefficients;
  AdamWRounding rounding;
};

/// The stretches of one launch.
template <class T>
using AdamWTable = StretchTable<AdamWPiece<T>, 58>;
static_assert(sizeof(AdamWTable<float>) + sizeof(void*) + sizeof(AdamWRounding) <= kParameterBytes);

/// Elements of one block.
inline constexpr std::int64_t kAdamWBlock = 1024;

/// How many elements a thread updates together: 16 bytes of each fp32 tensor, 8 of the bf16 copy.
inline constexpr int kAdamWWidth = 4;

template <class T, class A = Accumulator<T>>
AdamWPiece<T> piece_of(const AdamWStretch& stretch) {
  T* const compute = stretch.compute ? stretch.compute.as<T>() : nullptr;
  return {stretch.master.as<A>(),
          stretch.gradient.as<A>(),
          stretch.exp_avg.as<A>(),
          stretch.exp_avg_sq.as<A>(),
          compute,
          stretch.master.size(),
          stretch.first_element,
          stretch.decays,
          stretch.first_element % kAdamWWidth == 0 &&
              are_aligned(stretch.master.data, stretch.gradient.data, stretch.exp_avg.data,
                          stretch.exp_avg_sq.data, compute)};
}

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
  const std::int64_t element = u.at.first_element + begin;
  const PhiloxBlock bits = rounding_bits(u.rounding.seed, u.coefficients.step, element / kRoundingBlock);
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
  const A decay = u.at.decays ? c.decay : A(1);
  const auto gradient = load<kCount>(u.at.gradient + begin);
  auto m = load<kCount>(u.at.exp_avg + begin), v = load<kCount>(u.at.exp_avg_sq + begin);
  auto w = load<kCount>(u.at.master + begin);
  TENAX_UNROLL
  for (int k = 0; k < kCount; ++k) {
    const A g = gradient.at[k] * c.gradient_scale;
    m.at[k] = c.beta1 * m.at[k] + c.one_minus_beta1 * g;
    v.at[k] = c.beta2 * v.at[k] + c.one_minus_beta2 * g * g;
    w.at[k] = decay * w.at[k] - c.step_size * m.at[k] / (std::sqrt(v.at[k]) * c.root_scale + c.epsilon);
  }
  store(u.at.exp_avg + begin, m);
  store(u.at.exp_avg_sq + begin, v);
  store(u.at.master + begin, w);
  if (!u.at.compute) return;
  if constexpr (std::is_same_v<T, bf16_t>)
    if (u.rounding.stochastic) w = rounded_at_random(u, w, begin);
  store_copy(u.at.compute + begin, w);
}

/// Elements [block · kAdamWBlock, (block + 1) · kAdamWBlock) of those there are, kCount at a time (1 where the tensors
/// are not aligned).
template <int kCount, class Group, class T, class A>
TENAX_HOST_DEVICE void update_block(Group group, const AdamWUpdate<T, A>& u, std::int64_t block) {
  static_assert(kRoundingBlock % kCount == 0 && kAdamWBlock % kCount == 0);
  const std::int64_t first = block * kAdamWBlock;
  const std::int64_t count = u.at.count - first < kAdamWBlock ? u.at.count - first : kAdamWBlock;
  const std::int64_t packed = count / kCount * kCount;
  for (std::int64_t i = group.rank() * kCount; i < packed; i += group.size() * kCount)
    update_pack<kCount>(u, first + i);
  for (std::int64_t i = packed + group.rank(); i < count; i += group.size()) update_pack<1>(u, first + i);
}

/// Block number `block` of the table's launch.
template <class Group, class T, class A>
TENAX_HOST_DEVICE void adamw_block(Group group, const AdamWTable<T>& table,
                                   const AdamWCoefficients<A>& coefficients, const AdamWRounding& rounding,
                                   std::uint32_t block) {
  if (!coefficients.applies) return;
  const int piece = piece_of(table, block);
  const AdamWUpdate<T> update{table.pieces[piece], coefficients, rounding};
  const std::int64_t block_of_piece = block - table.first_block[piece];
  if constexpr (sizeof(T) <= 4)
    if (update.at.is_packed) return update_block<kAdamWWidth>(group, update, block_of_piece);
  update_block<1>(group, update, block_of_piece);
}

}  // namespace tenax::kernels::cuda
