// PlanBudget: how long the planner may search; BudgetMeter: how much of it is left.
#pragma once

#include <chrono>
#include <cstdint>

namespace tenax::parallel {

/// Whichever ends first; evaluations alone make the result independent of the machine's speed.
struct PlanBudget {
  double seconds = 0.1;
  /// Simulated schedules; 0 = bounded by time alone, > 0 = by evaluations alone.
  std::int64_t evaluations = 0;
};

class BudgetMeter {
 public:
  explicit BudgetMeter(const PlanBudget& budget) : budget_(budget), start_(Clock::now()) {}

  /// Counts one evaluation; false once the budget is spent.
  bool spend() {
    ++spent_;
    if (budget_.evaluations > 0) return spent_ < budget_.evaluations;
    if (spent_ >= next_look_) look();
    return !over_;
  }
  bool left() const { return budget_.evaluations > 0 ? spent_ < budget_.evaluations : !over_; }
  /// The part of the budget spent so far, as of the last look at the clock.
  double used() const {
    return budget_.evaluations > 0 ? static_cast<double>(spent_) / static_cast<double>(budget_.evaluations)
                                   : elapsed_s_ / budget_.seconds;
  }

 private:
  using Clock = std::chrono::steady_clock;

  // The clock is read about every 1/500 of the budget, and after each of the first evaluations.
  void look() {
    elapsed_s_ = std::chrono::duration<double>(Clock::now() - start_).count();
    over_ = elapsed_s_ >= budget_.seconds;
    const double each_s = elapsed_s_ / static_cast<double>(spent_);
    const double pause = each_s > 0 ? budget_.seconds / 500 / each_s : 0;
    next_look_ = spent_ + 1 + static_cast<std::int64_t>(pause < 1000 ? pause : 1000);
  }

  PlanBudget budget_;
  Clock::time_point start_;
  std::int64_t spent_ = 0, next_look_ = 1;
  double elapsed_s_ = 0;
  bool over_ = false;
};

}  // namespace tenax::parallel
