// ActionOutcome: what the action that was applied last achieves, as the iterations after it tell.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "parallel/layout/process_grid.hpp"
#include "resilience/mitigation/action_costs.hpp"
#include "resilience/mitigation/mitigation_record.hpp"
#include "resilience/mitigation/retry_pause.hpp"
#include "resilience/mitigation/run_placement.hpp"

namespace tenax::resilience {

/// Pure. A trial ends after eight iterations; after 64 where a checkpoint masks most of them.
class ActionOutcome {
 public:
  explicit ActionOutcome(parallel::GridShape shape) : shape_(shape) {}

  /// The next action is in force; `before`: the placement that it has changed. What made matters worse is gone where
  /// this one changes the same shares, or a ring of its own, again: as what undoes it does, and a swap.
  void begin(MitigationRecord record, RunPlacement before);
  bool is_awaited() const { return trial_.has_value(); }
  /// An iteration has ended. `is_masked`: it says nothing of the machine.
  void add(double seconds, bool is_masked = false);
  /// Something else has become slow: what follows is not blamed on the action, and neither is what was seen. What was
  /// worse from its first iterations on is undone all the same, as it may have made that slow, and is to be tried anew.
  void disturb();

  /// An action made matters worse, is still in force, and is to be undone now.
  bool is_regretted() const { return regretted_ && regretted_->undo_pause.is_over(); }
  /// Then: what undoes it, and leaves the rest of the placement as it is `now`.
  std::optional<MitigationRecord> undo(const RunPlacement& now, const ActionCosts& costs) const;
  /// What the undo that is being carried out undoes may not be what made matters worse, as disturb() has found since
  /// it was decided on.
  bool is_excused() const { return !regretted_ || regretted_->is_disturbed; }
  /// It could not be undone, and is regretted again after some iterations, unless disturb() has forgiven it meanwhile.
  void keep() {
    if (regretted_) regretted_->undo_pause.failed();
  }

  /// As Mitigation's. `recent_s`: what an iteration takes now.
  std::optional<std::int64_t> take_doubt() { return std::exchange(doubt_, {}); }
  std::vector<MitigationRecord> take_records(bool all, double recent_s);

 private:
  struct Trial {
    MitigationRecord record;
    RunPlacement before;
    std::vector<double> seconds = {}, masked_s = {};  // of iterations, and of those that are masked
    bool is_disturbed = false;
    RetryPause undo_pause = {};
  };
  void settle();
  void judge(Trial trial);

  parallel::GridShape shape_;
  std::optional<Trial> trial_;         // applied, and not yet known
  std::optional<Trial> regretted_;     // the first that made matters worse and is still in force
  std::optional<std::int64_t> doubt_;  // see Mitigation::take_doubt()
  std::vector<MitigationRecord> records_;
};

}  // namespace tenax::resilience
