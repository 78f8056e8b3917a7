// Time: points by which something must have happened, and how a thread waits. There is no wait
// without a deadline.
#pragma once

#include <chrono>

namespace tenax::kernels {

/// A point in time of the steady clock.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  /// `seconds` from now. More than some 30 years are taken for 30 years.
  static Deadline after_s(double seconds);
  bool expired() const { return Clock::now() >= when_; }
  Clock::time_point when() const { return when_; }

 private:
  explicit Deadline(Clock::time_point when) : when_(when) {}
  Clock::time_point when_;
};

/// Seconds of the steady clock, from its own beginning: what events, transfers and
/// measurements count in.
inline double steady_now_s() {
  return std::chrono::duration<double>(Deadline::Clock::now().time_since_epoch()).count();
}

/// Sleeps until steady_now_s() is at least `time_s`, as exactly as the system can without spinning;
/// returns at once when it is already. The time is absolute, so that sleeps in sequence do not add
/// up their lateness.
void sleep_until_s(double time_s);

/// How a waiting thread spends its time between two polls: a short spell of yields (a peer on
/// another core answers within microseconds), then sleeps that grow to 0.2 ms, so that long waits
/// leave the core to others.
class Backoff {
 public:
  void pause();

 private:
  int polls_ = 0;
  int sleep_us_ = 10;
};

}  // namespace tenax::kernels
