#include "resilience/detection/call_distances.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace tenax::resilience {
namespace {

/// So many lags are tried for each length of words.
constexpr std::size_t kMostLags = 16;

/// The finalizer of splitmix64 (Steele, Lea, Flood 2014).
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Where each word was seen last: a table with open addressing.
class LastPlaces {
 public:
  explicit LastPlaces(std::size_t words) : slots_(std::bit_ceil(2 * words + 1)) {}
  /// The place of `word` before this one, plus 1; 0 if it is the first.
  std::size_t exchange(std::uint64_t word, std::size_t place) {
    std::size_t slot = word & (slots_.size() - 1);
    while (slots_[slot].place_plus_1 && slots_[slot].word != word) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot].word = word;
    return std::exchange(slots_[slot].place_plus_1, place + 1);
  }

 private:
  struct Slot {
    std::uint64_t word = 0;
    std::size_t place_plus_1 = 0;
  };
  std::vector<Slot> slots_;
};

}  // namespace

CallDistances::CallDistances(std::span<const std::uint32_t> symbols) : calls_(symbols.size()) {
  words_.reserve(calls_);
  for (const std::uint32_t symbol : symbols) words_.push_back(mixed(symbol + 1));
}

bool CallDistances::has_next() const { return 3 * (length_ / 2 + 1) <= calls_ && !words_.empty(); }

std::vector<std::size_t> CallDistances::next() {
  const std::vector<std::size_t> count_of = counts();
  std::vector<std::size_t> lags;
  for (std::size_t lag = length_ / 2 + 1; lag <= length_; ++lag)
    if (count_of[lag]) lags.push_back(lag);
  const auto end = lags.begin() + static_cast<std::ptrdiff_t>(std::min(lags.size(), kMostLags));
  std::partial_sort(lags.begin(), end, lags.end(),
                    [&](std::size_t a, std::size_t b) { return count_of[a] > count_of[b]; });
  lags.erase(end, lags.end());
  std::sort(lags.begin(), lags.end());
  lengthen();
  return lags;
}

std::vector<std::size_t> CallDistances::counts() const {
  std::vector<std::size_t> count_of(length_ + 1);
  LastPlaces last(words_.size());
  for (std::size_t place = 0; place < words_.size(); ++place) {
    const std::size_t before = last.exchange(words_[place], place);
    if (before && place + 1 - before <= length_) ++count_of[place + 1 - before];
  }
  return count_of;
}

void CallDistances::lengthen() {
  const std::size_t left = words_.size() > length_ ? words_.size() - length_ : 0;
  for (std::size_t place = 0; place < left; ++place)
    words_[place] = mixed(3 * words_[place] + words_[place + length_]);
  words_.resize(left);
  length_ *= 2;
}

}  // namespace tenax::resilience
