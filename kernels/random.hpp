// Counter-based random numbers: a value depends on (seed, name, index) alone, never on how a tensor
// is laid out over ranks or in what order it is filled.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tenax::kernels {

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11) keyed by
/// seed and a hash of the name.
class CounterRandom {
 public:
  CounterRandom(std::uint64_t seed, std::string_view name);
  /// 64 uniform bits of `index`.
  std::uint64_t bits(std::uint64_t index) const;
  /// Uniform in [0, 1).
  double uniform(std::uint64_t index) const;
  /// N(0, 1) by Box-Muller; each index has its own pair of uniforms.
  double normal(std::uint64_t index) const;

 private:
  std::uint64_t key_;
};

/// The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), a bijection.
constexpr std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

using PhiloxBlock = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

/// The 128 random bits of one counter under one key: a bijection of counters, so no two counters
/// share a block.
constexpr PhiloxBlock philox4x32_10(PhiloxBlock counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = 0xD2511F53ull * counter[0];
    const std::uint64_t product1 = 0xCD9E8D57ull * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += 0x9E3779B9u;  // the golden ratio
    key[1] += 0xBB67AE85u;  // sqrt(3) - 1
  }
  return counter;
}

}  // namespace tenax::kernels
