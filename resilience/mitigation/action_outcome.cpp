#include "resilience/mitigation/action_outcome.hpp"

#include <algorithm>

#include "resilience/detection/sorted_values.hpp"
#include "resilience/mitigation/iteration_loss.hpp"

namespace tenax::resilience {

void ActionOutcome::begin(MitigationRecord record, RunPlacement before) {
  trial_ = Trial{.record = std::move(record), .before = std::move(before)};
}

void ActionOutcome::add(double seconds) {
  if (!trial_) return;
  trial_->seconds.push_back(seconds);
  if (trial_->seconds.size() == IterationLoss::kSettled) settle(upper_median_of(trial_->seconds));
}

void ActionOutcome::disturb() {
  if (trial_) trial_->is_disturbed = true;
  regretted_.reset();
}

void ActionOutcome::settle(double achieved_s) {
  constexpr double kWorse = 0.02;    // more than this share worse than before is worse
  constexpr double kDoubtful = 1.1;  // so many times what was predicted is more than an inexact forecast
  Trial trial = *std::exchange(trial_, {});
  trial.record.achieved_s = achieved_s;
  const bool is_worse = achieved_s > (1 + kWorse) * trial.record.measured_s;
  for (MitigationRecord& record : told_one_by_one(trial.record, trial.before, shape_))
    records_.push_back(std::move(record));
  // From the middle on, as the median says nothing of what was slow for less.
  if (is_worse || achieved_s > kDoubtful * trial.record.predicted_s)
    doubt_ = trial.record.step + static_cast<std::int64_t>(IterationLoss::kSettled / 2);
  if (is_worse && !trial.record.is_revert && !trial.is_disturbed) regretted_ = std::move(trial);
}

std::optional<MitigationRecord> ActionOutcome::undo(const ActionCosts& costs) const {
  if (!regretted_) return {};
  const MitigationRecord& action = regretted_->record;
  return MitigationRecord{.strategy = action.strategy,
                          .is_revert = true,
                          .made_worse = true,
                          .components = action.components,
                          .placement = regretted_->before,
                          .lost_s = action.lost_s,
                          .expected_cost_s = std::min(costs.seconds(action.strategy), action.lost_s),
                          .predicted_s = action.measured_s};
}

std::vector<MitigationRecord> ActionOutcome::take_records(bool all, double recent_s) {
  if (all && trial_) {
    trial_->is_disturbed = true;
    settle(trial_->seconds.empty() ? recent_s : upper_median_of(trial_->seconds));
  }
  return std::exchange(records_, {});
}

}  // namespace tenax::resilience
