// A point in time by which something must have happened. There is no wait without one.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace tenax::kernels {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  /// Longer than kForever_s is for ever (the clock's numbers end there).
  static Deadline after_s(double seconds) {
    return Deadline(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                       std::chrono::duration<double>(std::min(seconds, kForever_s))));
  }
  bool expired() const { return Clock::now() >= when_; }
  Clock::time_point when() const { return when_; }

 private:
  static constexpr double kForever_s = 1e9;
  explicit Deadline(Clock::time_point when) : when_(when) {}
  Clock::time_point when_;
};

/// Seconds of the steady clock, from its own beginning: what events, transfers and measurements count in.
inline double steady_now_s() {
  return std::chrono::duration<double>(Deadline::Clock::now().time_since_epoch()).count();
}

/// How a waiting thread spends its time between two polls: a short spell of yields (a peer on another core
/// answers within microseconds), then sleeps that grow to 0.2 ms, so that long waits leave the core to
/// others.
class Backoff {
 public:
  void pause() {
    if (polls_++ < kYields) {
      std::this_thread::yield();
      return;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(sleep_us_));
    sleep_us_ = std::min(sleep_us_ * 2, 200);
  }

 private:
  static constexpr int kYields = 2000;
  int polls_ = 0;
  int sleep_us_ = 10;
};

}  // namespace tenax::kernels
