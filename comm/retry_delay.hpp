// RetryDelay: how long what has failed is left alone before it is tried again.
#pragma once

#include <algorithm>

namespace tenax::comm {

/// 1, 2, 4 … 60 s between one failure and the next attempt, for ever; from the beginning again once
/// an attempt's success has held for 60 s. Pure: the clock is passed in, in seconds, and never goes
/// back.
class RetryDelay {
 public:
  static constexpr double kFirst_s = 1, kLongest_s = 60, kHolds_s = 60;

  /// `first_s`: the delay of a first failure; 0 = the second is the first to wait.
  explicit RetryDelay(double first_s = kFirst_s) : first_s_(first_s), next_s_(first_s) {}

  /// What worked until `now_s`, since `since_s`, has failed: the delay of the next attempt. For one
  /// that fails again without having worked in between, `since_s` = `now_s`.
  double after_failure_s(double since_s, double now_s) {
    if (now_s - since_s >= kHolds_s) next_s_ = first_s_;
    const double delay_s = next_s_;
    next_s_ = std::clamp(2 * delay_s, kFirst_s, kLongest_s);
    return delay_s;
  }

 private:
  double first_s_, next_s_;
};

}  // namespace tenax::comm
