// Counter-based random numbers: a value depends on (seed, name, index) alone, never on how a tensor is laid
// out over ranks or in what order it is filled.
#pragma once

#include <cstdint>
#include <string_view>

namespace tenax::kernels {

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11) keyed by seed and a
/// hash of the name.
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

}  // namespace tenax::kernels
