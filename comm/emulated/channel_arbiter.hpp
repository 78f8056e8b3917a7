// ChannelArbiter: who may transmit next on a channel that both directions between two ranks share. Pure.
#pragma once

#include <array>
#include <deque>
#include <optional>

namespace tenax::comm {

/// The two ends of a channel: the ranks with the lower and the higher number.
enum class ChannelEnd { lower, upper };

/// First come first served, one transfer at a time; `paired`: one at a time in each direction.
class ChannelArbiter {
 public:
  explicit ChannelArbiter(bool paired) : paired_(paired) {}

  /// `end` has a message ready; its earlier ones come first.
  void request(ChannelEnd end) { requests_.push_back(end); }
  /// The transfer that was granted to `end` has ended.
  void release(ChannelEnd end) { busy_[index(end)] = false; }

  /// Who may begin now, if anyone; the channel is then theirs. Call it after each request and release until
  /// it gives nothing.
  std::optional<ChannelEnd> grant() {
    for (auto request = requests_.begin(); request != requests_.end(); ++request) {
      const ChannelEnd end = *request;
      const bool free = paired_ ? !busy_[index(end)] : !busy_[0] && !busy_[1];
      if (!free && !paired_) return std::nullopt;
      if (!free) continue;
      requests_.erase(request);
      busy_[index(end)] = true;
      return end;
    }
    return std::nullopt;
  }

 private:
  static std::size_t index(ChannelEnd end) { return end == ChannelEnd::lower ? 0 : 1; }

  bool paired_;
  std::array<bool, 2> busy_{};
  std::deque<ChannelEnd> requests_;
};

}  // namespace tenax::comm
