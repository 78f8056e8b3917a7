#include "io/tokenizer/bpe_merges.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "io/tokenizer/bpe_long_word.hpp"

namespace tenax::io {
namespace {

// Up to here looking at all pairs beats keeping them in order; English words have 5 bytes, hardly any more than 20.
constexpr std::size_t kShort = 48;
constexpr std::uint32_t kNever = BpeMerged::kNever;

}  // namespace

BpeMerges::BpeMerges(const std::vector<BpeMerge>& merges) {
  // At most half full, so that the search for a pair that is not there ends soon.
  slots_.resize(std::bit_ceil(2 * merges.size() + 2));
  shift_ = 64 - std::countr_zero(slots_.size());
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const std::uint64_t pair = pair_of(merges[rank].left, merges[rank].right);
    std::size_t at = home_of(pair);
    while (slots_[at].merge.rank != kNever) at = (at + 1) % slots_.size();
    slots_[at] = {pair, {static_cast<std::uint32_t>(rank), merges[rank].merged}};
  }
}

std::uint64_t BpeMerges::pair_of(std::int32_t left, std::int32_t right) {
  return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
}

std::size_t BpeMerges::home_of(std::uint64_t pair) const {
  constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15U;
  return static_cast<std::size_t>((pair ^ pair >> 29) * kMix >> shift_);
}

const BpeMerged& BpeMerges::find(std::int32_t left, std::int32_t right) const {
  const std::uint64_t pair = pair_of(left, right);
  std::size_t at = home_of(pair);
  while (slots_[at].pair != pair && slots_[at].merge.rank != kNever) at = (at + 1) & (slots_.size() - 1);
  return slots_[at].merge;
}

void BpeMerges::apply(std::vector<std::int32_t>& tokens, std::size_t begin) const {
  const std::size_t count = tokens.size() - begin;
  if (count < 2) return;
  count <= kShort ? apply_to_short(tokens, begin) : merge_long_word(*this, tokens, begin);
}

void BpeMerges::apply_to_short(std::vector<std::int32_t>& tokens, std::size_t begin) const {
  std::int32_t* const token = tokens.data() + begin;
  std::size_t count = tokens.size() - begin;
  std::array<std::uint32_t, kShort> rank;  // of the pair that begins there
  const auto look_up = [&](std::size_t at) {
    rank[at] = at + 1 < count ? find(token[at], token[at + 1]).rank : kNever;
  };
  for (std::size_t at = 0; at < count; ++at) look_up(at);
  while (true) {
    const auto* const best = std::min_element(rank.data(), rank.data() + count);
    if (*best == kNever) break;
    const auto at = static_cast<std::size_t>(best - rank.data());
    token[at] = find(token[at], token[at + 1]).token;
    --count;
    std::copy(token + at + 2, token + count + 1, token + at + 1);
    std::copy(rank.data() + at + 2, rank.data() + count + 1, rank.data() + at + 1);
    look_up(at);
    if (at > 0) look_up(at - 1);
  }
  tokens.resize(begin + count);
}

}  // namespace tenax::io
