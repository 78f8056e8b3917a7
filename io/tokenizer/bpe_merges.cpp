#include "io/tokenizer/bpe_merges.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <functional>
#include <vector>

namespace tenax::io {
namespace {

// Up to here looking at all pairs beats keeping them in order; English words have 5 bytes, hardly any more than 20.
constexpr std::size_t kShort = 48;
constexpr std::uint32_t kNever = BpeMerged::kNever;

constexpr std::int32_t kGone = -1;

/// Merges in O(n log n) time and about 40 bytes of memory a token. Tokens are a linked list, pairs wait in a heap; a pair
/// whose tokens have changed meanwhile is passed over.
class LongWord {
 public:
  LongWord(const BpeMerges& merges, std::int32_t* tokens, std::size_t count)
      : merges_(merges), token_(tokens), count_(static_cast<Place>(count)), next_(count), previous_(count) {
    assert(count < UINT32_MAX);
    for (Place at = 0; at < count_; ++at) {
      next_[at] = at + 1;
      previous_[at] = at == 0 ? count_ : at - 1;
      add_pair(at);
    }
    std::make_heap(pairs_.begin(), pairs_.end(), std::greater<>());
  }

  void merge_all() {
    while (!pairs_.empty()) {
      std::pop_heap(pairs_.begin(), pairs_.end(), std::greater<>());
      const Pair pair = pairs_.back();
      pairs_.pop_back();
      if (is_there(pair)) merge(pair);
    }
  }

 private:
  using Place = std::uint32_t;  // count_: none
  struct Pair {
    std::uint32_t rank;
    Place at;
    std::int32_t left, right;
    bool operator>(const Pair& other) const { return rank != other.rank ? rank > other.rank : at > other.at; }
  };

  bool add_pair(Place at) {
    const Place right = at == count_ ? count_ : next_[at];
    if (right == count_) return false;
    const BpeMerged& merged = merges_.find(token_[at], token_[right]);
    if (merged.rank == BpeMerged::kNever) return false;
    pairs_.push_back({merged.rank, at, token_[at], token_[right]});
    return true;
  }
  void push_pair(Place at) {
    if (add_pair(at)) std::push_heap(pairs_.begin(), pairs_.end(), std::greater<>());
  }

  bool is_there(const Pair& pair) const {
    return token_[pair.at] == pair.left && next_[pair.at] != count_ && token_[next_[pair.at]] == pair.right;
  }

  void merge(const Pair& pair) {
    const Place right = next_[pair.at], after = next_[right];
    token_[pair.at] = merges_.find(pair.left, pair.right).token;
    token_[right] = kGone;
    next_[pair.at] = after;
    if (after != count_) previous_[after] = pair.at;
    push_pair(pair.at);
    push_pair(previous_[pair.at]);
  }

  const BpeMerges& merges_;
  std::int32_t* token_;
  Place count_;
  std::vector<Place> next_, previous_;
  std::vector<Pair> pairs_;
};

void merge_long_word(const BpeMerges& merges, std::vector<std::int32_t>& tokens, std::size_t begin) {
  LongWord(merges, tokens.data() + begin, tokens.size() - begin).merge_all();
  const auto first = tokens.begin() + static_cast<std::ptrdiff_t>(begin);
  tokens.erase(std::remove(first, tokens.end(), kGone), tokens.end());
}

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
