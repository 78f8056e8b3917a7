#include "kernels/random.hpp"

#include <cmath>
#include <numbers>

namespace tenax::kernels {
namespace {

// FNV-1a over the name, then the finaliser of splitmix64 over both: keys of similar names and small seeds
// differ in all bits.
std::uint64_t key_of(std::uint64_t seed, std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
  return mixed(hash + 0x9e3779b97f4a7c15u * (seed + 1));
}

PhiloxBlock block_of(std::uint64_t key, std::uint64_t index) {
  return philox4x32_10({static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), 0, 0},
                       {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)});
}

std::uint64_t join(std::uint32_t low, std::uint32_t high) {
  return static_cast<std::uint64_t>(high) << 32 | low;
}

// The upper 53 bits as a fraction: every value is a multiple of 2^-53 and below 1.
double fraction(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace

CounterRandom::CounterRandom(std::uint64_t seed, std::string_view name) : key_(key_of(seed, name)) {}

std::uint64_t CounterRandom::bits(std::uint64_t index) const {
  const PhiloxBlock block = block_of(key_, index);
  return join(block[0], block[1]);
}

double CounterRandom::uniform(std::uint64_t index) const { return fraction(bits(index)); }

double CounterRandom::normal(std::uint64_t index) const {
  const PhiloxBlock block = block_of(key_, index);
  const double radius_uniform =
      1.0 - fraction(join(block[0], block[1]));  // in (0, 1]: its logarithm is finite
  const double angle_uniform = fraction(join(block[2], block[3]));
  return std::sqrt(-2.0 * std::log(radius_uniform)) * std::cos(2.0 * std::numbers::pi * angle_uniform);
}

}  // namespace tenax::kernels
