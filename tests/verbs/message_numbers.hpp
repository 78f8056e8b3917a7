// What two ranks that exchange messages share, and what each measures.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>

#include "kernels/deadline.hpp"

namespace tenax::comm {

/// The numbers of the messages: each rank takes all of them, and both end with the same. Thread rule: any thread.
class MessageNumbers {
 public:
  /// The rank's next; nothing: that was the last.
  std::optional<std::int64_t> take(std::size_t rank) {
    const std::lock_guard lock(mutex_);
    if (taken_[rank] == end_) return std::nullopt;
    return taken_[rank]++;
  }
  /// Ends after at least `least` messages; how many there are.
  std::int64_t end_after(std::int64_t least) {
    const std::lock_guard lock(mutex_);
    end_ = std::max({least, taken_[0], taken_[1]});
    return end_;
  }

 private:
  std::mutex mutex_;
  std::array<std::int64_t, 2> taken_{};
  std::int64_t end_ = std::numeric_limits<std::int64_t>::max();
};

/// How long nothing arrived. Thread rule: any thread.
class GapMeter {
 public:
  void arrive() {
    const std::lock_guard lock(mutex_);
    const double now_s = kernels::steady_now_s();
    longest_s_ = std::max(longest_s_, now_s - last_s_);
    last_s_ = now_s;
  }
  /// The longest gap since the last call, one that has not ended too.
  double take() {
    const std::lock_guard lock(mutex_);
    const double longest_s = std::max(longest_s_, kernels::steady_now_s() - last_s_);
    longest_s_ = 0;
    return longest_s;
  }

 private:
  std::mutex mutex_;
  double last_s_ = kernels::steady_now_s(), longest_s_ = 0;
};

}  // namespace tenax::comm
