// ActionCosts: what the strategies cost this run.
#pragma once

#include <map>

#include "resilience/mitigation/strategy.hpp"

namespace tenax::resilience {

/// Of training's time, in seconds > 0. An estimate (bytes / measured rate, a solver's time) holds
/// until the strategy has been applied: then it is what the last application took.
class ActionCosts {
 public:
  void estimate(Strategy strategy, double seconds) { estimated_s_[strategy] = seconds; }
  void measure(Strategy strategy, double seconds) { measured_s_[strategy] = seconds; }

  /// Of a strategy that was estimated or measured.
  double seconds(Strategy strategy) const {
    const auto measured = measured_s_.find(strategy);
    return measured != measured_s_.end() ? measured->second : estimated_s_.at(strategy);
  }

 private:
  std::map<Strategy, double> estimated_s_, measured_s_;
};

}  // namespace tenax::resilience
