// CallDistances: how far words of a sequence of calls are from where they came before. These are
// the lags that can be its period, found without trying them all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tenax::resilience {

/// A word of w calls inside of three repetitions of a period k, w/2 < k <= w, has come before k
/// calls earlier, and not later. So words of 1, 2, 4, … calls give all periods, the shortest first.
/// O(n) for each of log n lengths. Pure.
class CallDistances {
 public:
  explicit CallDistances(std::span<const std::uint32_t> symbols);

  /// Whether the words are short enough for what they find to have come three times.
  bool has_next() const;
  /// The most frequent of the distances in (w/2, w], ascending, for w = 1; then for twice as much.
  std::vector<std::size_t> next();

 private:
  std::vector<std::size_t> counts() const;
  void lengthen();

  std::size_t calls_, length_ = 1;
  std::vector<std::uint64_t> words_;  // a hash of the word that begins at each call
};

}  // namespace tenax::resilience
