// Rounding a float to bf16 up or down at random, with the probabilities that keep its mean.
//
// The numbers are counter-based (random.hpp): they depend on seed, step and index of the element only, never
// on how threads share the work. Runs on the host and on the GPU.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/cuda/group.hpp"
#include "kernels/random.hpp"

namespace tenax::kernels::cuda {

/// Whether the copy in bf16 is rounded at random instead of to nearest. Element i of a stretch draws by
/// (seed, step, first_element + i), its place in the rank's parameters: repeating a run repeats its bits,
/// however a layout cuts these into stretches. Ranks of other parameters draw alike. Each draw is unbiased
/// all the same.
struct UpdateRounding {
  bool stochastic = false;
  std::uint64_t seed = 1;
};

/// Elements that share a counter's 128 bits.
inline constexpr std::int64_t kRoundingBlock = 4;

/// 32 random bits for each of the elements [kRoundingBlock · block, kRoundingBlock · (block + 1)).
TENAX_HOST_DEVICE PhiloxBlock rounding_bits(std::uint64_t seed, std::int64_t step, std::int64_t block) {
  const auto counter = static_cast<std::uint64_t>(block), draw = static_cast<std::uint64_t>(step);
  return philox4x32_10({static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32),
                        static_cast<std::uint32_t>(draw), static_cast<std::uint32_t>(draw >> 32)},
                       {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
}

/// By selection: indexing with a number not known before would put the block into memory.
TENAX_HOST_DEVICE std::uint32_t bits_at(const PhiloxBlock& block, int place) {
  return place == 0 ? block[0] : place == 1 ? block[1] : place == 2 ? block[2] : block[3];
}

/// One of the two bf16 around a float: with uniform `bits`, a value that lies p of the way from one to the
/// other becomes the other with probability p, to 16 bits of p, which is all that a float can say. What is a
/// bf16 already stays, so do infinities and NaN.
TENAX_HOST_DEVICE float round_at_random(float value, std::uint32_t bits) {
  const auto exact = std::bit_cast<std::uint32_t>(value);
  const bool nan = (exact & 0x7fffffffu) > 0x7f800000u;
  return nan ? value : std::bit_cast<float>((exact + (bits >> 16)) & 0xffff0000u);
}

}  // namespace tenax::kernels::cuda
