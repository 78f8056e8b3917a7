// SkiRental: when a strategy against a slow component pays, although nobody knows how long it will
// last (Greyhound, section 5.1, algorithm 1).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>

#include "resilience/mitigation/strategy.hpp"

namespace tenax::resilience {

/// What iterations took beyond healthy ones.
struct LostTime {
  double since_onset_s = 0;    ///< from the first iteration in which the component was slow
  double since_healthy_s = 0;  ///< from the first one in which any was: what a restart can save
};

/// Of one component, from its onset until it has healed. Pure.
///
/// A strategy is due when what was lost since the onset has reached its cost. So with one strategy a
/// run loses at most twice what it would have, had the end been known, and one iteration's loss: the
/// waiting costs no more than the strategy. With k of them it is k + 1 times at worst.
class SkiRental {
 public:
  /// min_gain: the share of an iteration that an application must be expected to win. `so_far`: what
  /// was lost before the component was found.
  SkiRental(double min_gain, LostTime so_far) : min_gain_(min_gain), lost_(so_far) {}

  /// It is slow again, after it had healed: what was lost, done and barred before does not count any more.
  void begin_again(LostTime so_far) { *this = SkiRental(min_gain_, so_far); }
  /// After every iteration, whatever was done meanwhile: a partial cure leaves a loss.
  void add_iteration(double seconds, double healthy_s);
  /// What can buy the strategy: since the onset (of a restart: since the run was healthy), or since
  /// it was last applied.
  double lost_s(Strategy strategy) const;

  /// Of the candidates that are due and win enough of the last iteration the cheapest, of equally
  /// cheap ones the one that wins more.
  std::optional<PricedStrategy> due(std::span<const PricedStrategy> candidates) const;
  /// It was applied: for another time its cost must be lost again.
  void applied(Strategy strategy);
  /// It made matters worse, or was not possible: not due again before the component has healed.
  void bar(Strategy strategy) { barred_.insert(strategy); }
  /// It may have made matters worse: barred the second time.
  void doubt(Strategy strategy) {
    if (!doubted_.insert(strategy).second) bar(strategy);
  }

 private:
  double all_lost_s(Strategy strategy) const;
  bool is_due(const PricedStrategy& candidate) const;

  double min_gain_;
  LostTime lost_;
  double iteration_s_ = 0;                 // the last one
  std::map<Strategy, double> paid_for_s_;  // what had been lost when it was last applied
  std::set<Strategy> barred_, doubted_;
};

}  // namespace tenax::resilience
