#include "resilience/faults/fault_clock.hpp"

#include <algorithm>
#include <chrono>

namespace tenax::resilience {

bool FaultWindow::holds_at(std::int64_t step, double run_s) const {
  return step >= from_step && (to_step == 0 || step < to_step) && run_s >= from_s &&
         (to_s == 0 || run_s < to_s);
}

void FaultClock::begin_step(std::int64_t step) {
  if (step_ < 0) began_ = Clock::now().time_since_epoch().count();
  step_ = step;
}

double FaultClock::run_s(Clock::time_point when) const {
  if (step_ < 0) return 0;
  const auto passed = when.time_since_epoch() - Clock::duration(began_);
  return std::max(std::chrono::duration<double>(passed).count(), 0.0);
}

bool FaultClock::is_within(const FaultWindow& window, Clock::time_point when) const {
  const std::int64_t step = step_;
  return step >= 0 && window.holds_at(step, run_s(when));
}

}  // namespace tenax::resilience
