// ChannelArbiter: who may transmit next on a channel that both directions between two ranks share.
// Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <vector>

namespace tenax::comm {

/// The two ends of a channel: the ranks with the lower and the higher number.
enum class ChannelEnd { lower, upper };

/// First come first served, one transfer at a time; `paired`: one at a time in each direction.
/// Times are seconds of one clock; among the requests that are known the earliest counts as the
/// first, whichever was heard first.
class ChannelArbiter {
 public:
  explicit ChannelArbiter(bool paired) : paired_(paired) {}

  /// `end` has one more message, ready at `time_s`. Those of one end come in order.
  void request(ChannelEnd end, double time_s) { requests_.push_back({end, time_s}); }
  /// The transfer that was granted to `end` ended at `time_s`.
  void release(ChannelEnd end, double time_s) { direction(end) = {false, time_s}; }

  struct Grant {
    ChannelEnd end = ChannelEnd::lower;
    double time_s = 0;  ///< when its transfer may begin
  };
  /// Who may begin now, if anyone; the channel is then theirs. Call it after each request and
  /// release until it gives nothing.
  std::optional<Grant> grant() {
    auto first = requests_.end();
    for (auto it = requests_.begin(); it != requests_.end(); ++it)
      if (!direction(it->end).busy && (first == requests_.end() || comes_before(*it, *first))) first = it;
    if (first == requests_.end()) return std::nullopt;
    Direction& taken = direction(first->end);
    const Grant grant{first->end, std::max(first->time_s, taken.free_s)};
    taken.busy = true;
    requests_.erase(first);
    return grant;
  }

 private:
  struct Direction {  // what one transfer at a time uses
    bool busy = false;
    double free_s = 0;
  };
  Direction& direction(ChannelEnd end) { return directions_[paired_ && end == ChannelEnd::upper ? 1 : 0]; }
  /// At the same time the lower end's, which sends activations. Times of two ranks agree no better
  /// than this.
  static bool comes_before(const Grant& a, const Grant& b) {
    constexpr double kSameTime_s = 1e-3;
    if (a.end == b.end) return a.time_s < b.time_s;
    return a.end == ChannelEnd::lower ? a.time_s <= b.time_s + kSameTime_s
                                      : a.time_s < b.time_s - kSameTime_s;
  }

  bool paired_;
  std::array<Direction, 2> directions_;
  std::vector<Grant> requests_;  ///< time_s: when ready
};

}  // namespace tenax::comm
