// FaultClock: which step a run is in, and how long ago its first one began. FaultWindow: when a
// fault holds.
#pragma once

#include <atomic>
#include <cstdint>

#include "kernels/deadline.hpp"

namespace tenax::resilience {

/// Holds while from_step ≤ step < to_step and from_s ≤ run_s < to_s, both. A to_… of 0: for ever.
struct FaultWindow {
  std::int64_t from_step = 0, to_step = 0;
  double from_s = 0, to_s = 0;  ///< since the first step began

  bool holds_at(std::int64_t step, double run_s) const;
};

/// Thread rule: one thread begins steps, any thread asks.
class FaultClock {
 public:
  using Clock = kernels::Deadline::Clock;

  void begin_step(std::int64_t step);
  /// -1 before the first step.
  std::int64_t step() const { return step_; }
  /// Seconds from when the first step of this process began to `when`; 0 before that step.
  double run_s(Clock::time_point when = Clock::now()) const;
  /// False before the first step, when nothing is wrong yet.
  bool is_within(const FaultWindow& window, Clock::time_point when = Clock::now()) const;

 private:
  std::atomic<Clock::rep> began_ = 0;
  std::atomic<std::int64_t> step_ = -1;
};

}  // namespace tenax::resilience
