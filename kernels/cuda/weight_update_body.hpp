// What the threads of a block compute of an update. Runs on the host and on the GPU.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/group.hpp"
#include "kernels/cuda/stochastic_rounding.hpp"
#include "kernels/cuda/stretch_table.hpp"
#include "kernels/cuda/vector16.hpp"
#include "kernels/kernels.hpp"
#include "kernels/update_coefficients.hpp"

namespace tenax::kernels::cuda {

/// Pointers into `count` consecutive elements; compute may be null.
template <class T, class A = Accumulator<T>>
struct UpdatePiece {
  A* master;
  const A* gradient;
  A* moments[kMaxMoments];  ///< null where the optimizer has fewer
  T* compute;
  std::int64_t count, first_element;
  bool decays;
  bool is_packed;  ///< the tensors are aligned for accesses of kUpdateWidth elements
};

/// What a block works by.
template <class T, class A = Accumulator<T>>
struct Update {
  UpdatePiece<T> at;
  UpdateCoefficients<A> coefficients;
  UpdateRounding rounding;
};

/// The stretches of one launch.
template <class T>
using UpdateTable = StretchTable<UpdatePiece<T>, 58>;
static_assert(sizeof(UpdateTable<float>) + sizeof(void*) + sizeof(UpdateRounding) <= kParameterBytes);

/// Elements of one block.
inline constexpr std::int64_t kUpdateBlock = 1024;

/// How many elements a thread updates together: 16 bytes of each fp32 tensor, 8 of the bf16 copy.
inline constexpr int kUpdateWidth = 4;

/// AdamW on one element with the gradient g. Returns the new weight and leaves the new moments.
struct AdamWElement {
  static constexpr int kMoments = 2;
  static constexpr char kName[] = "adamw";

  template <class A>
  TENAX_HOST_DEVICE static A update(const UpdateCoefficients<A>& c, A decay, A g, A w,
                                    A (&moments)[kMoments]) {
    const A m = c.beta1 * moments[0] + c.one_minus_beta1 * g;
    const A v = c.beta2 * moments[1] + c.one_minus_beta2 * g * g;
    moments[0] = m;
    moments[1] = v;
    return decay * w - c.step_size * m / (std::sqrt(v) * c.root_scale + c.epsilon);
  }
};

/// Lion, likewise.
struct LionElement {
  static constexpr int kMoments = 1;
  static constexpr char kName[] = "lion";

  template <class A>
  TENAX_HOST_DEVICE static A update(const UpdateCoefficients<A>& c, A decay, A g, A w,
                                    A (&moments)[kMoments]) {
    const A direction = c.beta1 * moments[0] + c.one_minus_beta1 * g;
    moments[0] = c.beta2 * moments[0] + c.one_minus_beta2 * g;
    return decay * w - (direction > 0 ? c.learning_rate : direction < 0 ? -c.learning_rate : A(0));
  }
};

template <class Element, class T, class A = Accumulator<T>>
UpdatePiece<T> piece_of(const UpdateStretch& stretch) {
  UpdatePiece<T> piece{.master = stretch.master.as<A>(),
                       .gradient = stretch.gradient.as<A>(),
                       .moments = {},
                       .compute = stretch.compute ? stretch.compute.as<T>() : nullptr,
                       .count = stretch.master.size(),
                       .first_element = stretch.first_element,
                       .decays = stretch.decays,
                       .is_packed = false};
  piece.is_packed =
      stretch.first_element % kUpdateWidth == 0 && are_aligned(piece.master, piece.gradient, piece.compute);
  for (int i = 0; i < Element::kMoments; ++i) {
    piece.moments[i] = stretch.moments[static_cast<std::size_t>(i)].template as<A>();
    piece.is_packed = piece.is_packed && are_aligned(piece.moments[i]);
  }
  return piece;
}

struct alignas(8) FourBf16 {
  std::uint32_t low, high;
};

template <class T, class A, int kCount>
TENAX_HOST_DEVICE void store_copy(T* destination, const Pack<A, kCount>& values) {
  if constexpr (std::is_same_v<T, bf16_t> && kCount == kUpdateWidth)
    *reinterpret_cast<FourBf16*>(destination) = {narrow_word<T>(values.at), narrow_word<T>(values.at + 2)};
  else
    store(destination, values);
}

/// The new weights [begin, begin + kCount) as floats that bf16 holds, one of each one's two neighbours.
template <int kCount>
TENAX_HOST_DEVICE Pack<float, kCount> rounded_at_random(const Update<bf16_t>& u,
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
template <class Element, int kCount, class T, class A>
TENAX_HOST_DEVICE void update_pack(const Update<T, A>& u, std::int64_t begin) {
  constexpr int kMoments = Element::kMoments;
  const A decay = u.at.decays ? u.coefficients.decay : A(1);
  const auto gradient = load<kCount>(u.at.gradient + begin);
  Pack<A, kCount> moments[kMoments];
  TENAX_UNROLL
  for (int i = 0; i < kMoments; ++i) moments[i] = load<kCount>(u.at.moments[i] + begin);
  auto w = load<kCount>(u.at.master + begin);
  TENAX_UNROLL
  for (int k = 0; k < kCount; ++k) {
    const A g = gradient.at[k] * u.coefficients.gradient_scale;
    A of_element[kMoments];
    TENAX_UNROLL
    for (int i = 0; i < kMoments; ++i) of_element[i] = moments[i].at[k];
    w.at[k] = Element::update(u.coefficients, decay, g, w.at[k], of_element);
    TENAX_UNROLL
    for (int i = 0; i < kMoments; ++i) moments[i].at[k] = of_element[i];
  }
  TENAX_UNROLL
  for (int i = 0; i < kMoments; ++i) store(u.at.moments[i] + begin, moments[i]);
  store(u.at.master + begin, w);
  if (!u.at.compute) return;
  if constexpr (std::is_same_v<T, bf16_t>)
    if (u.rounding.stochastic) w = rounded_at_random(u, w, begin);
  store_copy(u.at.compute + begin, w);
}

/// Elements [block · kUpdateBlock, (block + 1) · kUpdateBlock) of those there are, kCount at a time (1 where
/// the tensors are not aligned).
template <class Element, int kCount, class Group, class T, class A>
TENAX_HOST_DEVICE void update_block(Group group, const Update<T, A>& u, std::int64_t block) {
  static_assert(kRoundingBlock % kCount == 0 && kUpdateBlock % kCount == 0);
  const std::int64_t first = block * kUpdateBlock;
  const std::int64_t count = u.at.count - first < kUpdateBlock ? u.at.count - first : kUpdateBlock;
  const std::int64_t packed = count / kCount * kCount;
  for (std::int64_t i = group.rank() * kCount; i < packed; i += group.size() * kCount)
    update_pack<Element, kCount>(u, first + i);
  for (std::int64_t i = packed + group.rank(); i < count; i += group.size())
    update_pack<Element, 1>(u, first + i);
}

/// Block number `block` of the table's launch.
template <class Element, class Group, class T, class A>
TENAX_HOST_DEVICE void update_block_of_table(Group group, const UpdateTable<T>& table,
                                             const UpdateCoefficients<A>& coefficients,
                                             const UpdateRounding& rounding, std::uint32_t block) {
  if (!coefficients.applies) return;
  const int piece = piece_of(table, block);
  const Update<T> update{table.pieces[piece], coefficients, rounding};
  const std::int64_t block_of_piece = block - table.first_block[piece];
  if constexpr (sizeof(T) <= 4)
    if (update.at.is_packed) return update_block<Element, kUpdateWidth>(group, update, block_of_piece);
  update_block<Element, 1>(group, update, block_of_piece);
}

}  // namespace tenax::kernels::cuda
