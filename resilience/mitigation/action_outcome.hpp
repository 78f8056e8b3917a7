// ActionOutcome: what the action that was applied last achieves, as the iterations after it tell.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "parallel/layout/process_grid.hpp"
#include "resilience/mitigation/action_costs.hpp"
#include "resilience/mitigation/mitigation_record.hpp"
#include "resilience/mitigation/run_placement.hpp"

namespace tenax::resilience {

/// Pure. A trial ends after eight iterations; after 64 where a checkpoint masks most of them.
class ActionOutcome {
 public:
  explicit ActionOutcome(parallel::GridShape shape) : shape_(shape) {}

  /// The next action is in force; `before`: the placement that it has changed.
  void begin(MitigationRecord record, RunPlacement before);
  bool is_awaited() const { return trial_.has_value(); }
  /// An iteration has ended. `is_masked`: it says nothing of the machine.
  void add(double seconds, bool is_masked = false);
  /// Something else has become slow: what follows is not blamed on the action, and neither is what was seen.
  void disturb();

  /// The last action made matters worse, and is still in force.
  bool is_regretted() const { return regretted_.has_value(); }
  /// Then: what undoes it.
  std::optional<MitigationRecord> undo(const ActionCosts& costs) const;
  /// It is undone, or cannot be.
  void accept() { regretted_.reset(); }

  /// As Mitigation's. `recent_s`: what an iteration takes now.
  std::optional<std::int64_t> take_doubt() { return std::exchange(doubt_, {}); }
  std::vector<MitigationRecord> take_records(bool all, double recent_s);

 private:
  struct Trial {
    MitigationRecord record;
    RunPlacement before;
    std::vector<double> seconds = {}, masked_s = {};  // of iterations, and of those that are masked
    bool is_disturbed = false;
  };
  void settle();
  void judge(Trial trial);

  parallel::GridShape shape_;
  std::optional<Trial> trial_;         // applied, and not yet known
  std::optional<Trial> regretted_;     // it made matters worse, and is still in force
  std::optional<std::int64_t> doubt_;  // see Mitigation::take_doubt()
  std::vector<MitigationRecord> records_;
};

}  // namespace tenax::resilience
