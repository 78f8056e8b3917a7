#include "io/tokens/window_order.hpp"

#include <bit>
#include <cassert>

#include "kernels/random.hpp"

namespace tenax::io {
namespace {

// Few bits a half mix slowly: with four rounds a permutation of a small file would be far from uniform.
constexpr int kRounds = 12;

}  // namespace

SampleOrder sample_order(std::string_view deck_choice) {
  assert(deck_choice == "sequential" || deck_choice == "shuffled");
  return deck_choice == "sequential" ? SampleOrder::sequential : SampleOrder::shuffled;
}

WindowOrder::WindowOrder(SampleOrder order, std::int64_t seed, std::int64_t windows)
    : order_(order), seed_(seed), windows_(windows) {
  assert(windows_ > 0);
  const int bits = std::bit_width(static_cast<std::uint64_t>(windows_ - 1));
  if (bits > 2) half_bits_ = (bits + 1) / 2;
}

std::int64_t WindowOrder::window_of(std::int64_t global_index) const {
  assert(global_index >= 0);
  const std::int64_t within_epoch = global_index % windows_;
  if (order_ == SampleOrder::sequential) return within_epoch;
  const auto epoch = static_cast<std::uint64_t>(global_index / windows_);
  const std::uint64_t key =
      kernels::CounterRandom(static_cast<std::uint64_t>(seed_), "data.order").bits(epoch);
  // The network permutes the next power of four; walking its cycle until it is back among the windows
  // permutes those, after fewer than four tries on average.
  auto window = static_cast<std::uint64_t>(within_epoch);
  do {
    window = permute(window, key);
  } while (window >= static_cast<std::uint64_t>(windows_));
  return static_cast<std::int64_t>(window);
}

std::uint64_t WindowOrder::permute(std::uint64_t value, std::uint64_t key) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = value >> half_bits_, right = value & mask;
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    const std::uint64_t next = left ^ (kernels::mixed(kernels::mixed(key + round) ^ right) & mask);
    left = right;
    right = next;
  }
  return (left << half_bits_) | right;
}

}  // namespace tenax::io
