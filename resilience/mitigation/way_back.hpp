// WayBack: takes back what was done against slow components, once they have healed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "parallel/layout/process_grid.hpp"
#include "resilience/mitigation/action_costs.hpp"
#include "resilience/mitigation/iteration_loss.hpp"
#include "resilience/mitigation/mitigation_record.hpp"
#include "resilience/mitigation/retry_pause.hpp"
#include "resilience/mitigation/run_placement.hpp"
#include "resilience/mitigation/slow_cases.hpp"

namespace tenax::resilience {

/// Pure.
class WayBack {
 public:
  /// To `launch`. min_gain: as Mitigation::Options has it.
  WayBack(RunPlacement launch, parallel::GridShape shape, double min_gain)
      : launch_(std::move(launch)), shape_(shape), min_gain_(min_gain) {}

  /// Nothing is left to be taken back from `now`.
  bool is_gone(const RunPlacement& now) const { return now == launch_; }
  /// An iteration has ended.
  void add(bool is_any_slow);
  /// The next part of it from `now`; nothing where all is needed, or it does not pay yet.
  std::optional<MitigationRecord> next(const RunPlacement& now, const SlowCases& cases,
                                       const ActionCosts& costs, const IterationLoss& loss) const;
  /// The part by that strategy was carried out.
  void succeeded(Strategy strategy) { pauses_.erase(strategy); }
  /// It was not possible, and is tried again after some iterations of calm. Those of other strategies need not wait.
  void failed(Strategy strategy) { pauses_[strategy].failed(); }

 private:
  std::optional<RunPlacement> back_from(Strategy strategy, const RunPlacement& now,
                                        const SlowCases& cases) const;
  bool needs_ring(const DataGroup& group, const RunPlacement& now, const SlowCases& cases) const;
  bool is_paid(Strategy strategy, const ActionCosts& costs, double healthy_s) const;
  void add_what_it_was_for(MitigationRecord& record, const RunPlacement& now, const SlowCases& cases) const;

  RunPlacement launch_;
  parallel::GridShape shape_;
  double min_gain_;
  std::int64_t calm_iterations_ = 0;       // since anything was slow
  std::map<Strategy, RetryPause> pauses_;  // of those that failed: iterations of calm
};

}  // namespace tenax::resilience
