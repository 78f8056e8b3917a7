// Tokens are a linked list, pairs wait in a heap; one whose tokens have changed meanwhile is passed over.
#include "io/tokenizer/bpe_long_word.hpp"

#include <algorithm>
#include <cassert>
#include <functional>

namespace tenax::io {
namespace {

constexpr std::int32_t kGone = -1;

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

}  // namespace

void merge_long_word(const BpeMerges& merges, std::vector<std::int32_t>& tokens, std::size_t begin) {
  LongWord(merges, tokens.data() + begin, tokens.size() - begin).merge_all();
  const auto first = tokens.begin() + static_cast<std::ptrdiff_t>(begin);
  tokens.erase(std::remove(first, tokens.end(), kGone), tokens.end());
}

}  // namespace tenax::io
