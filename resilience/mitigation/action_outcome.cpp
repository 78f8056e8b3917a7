#include "resilience/mitigation/action_outcome.hpp"

#include <algorithm>
#include <cmath>

#include "resilience/detection/sorted_values.hpp"
#include "resilience/mitigation/iteration_loss.hpp"

namespace tenax::resilience {
namespace {

/// More than this share worse than before, and than chance explains, is worse.
constexpr double kWorse = 0.02;

// What the medians of two such trials differ by at most by chance, as a rule: two standard errors of their difference.
// The spread is that of most iterations, of which single slow ones say nothing.
double chance_s(const std::vector<double>& seconds) {
  constexpr double kSigmaOfDeviation = 1.4826, kErrorOfMedian = 1.2533;  // of normal values
  const double middle_s = median_of(seconds);
  std::vector<double> deviations_s;
  for (const double each_s : seconds) deviations_s.push_back(std::abs(each_s - middle_s));
  const double sigma_s = kSigmaOfDeviation * median_of(deviations_s);
  const double error_s = kErrorOfMedian * sigma_s / std::sqrt(static_cast<double>(seconds.size()));
  return 2 * std::sqrt(2.0) * error_s;
}

// Most of the first iterations were worse: nothing that came later made them so.
bool is_worse_from_start(const std::vector<double>& seconds, double before_s) {
  return lower_median_of({seconds.begin(), seconds.begin() + IterationLoss::kFewest}) >
         (1 + kWorse) * before_s;
}

}  // namespace

void ActionOutcome::begin(MitigationRecord record, RunPlacement before) {
  const bool replaces =
      regretted_ && (record.made_worse || record.strategy == Strategy::swap ||
                     is_changed_again(regretted_->record, regretted_->before, before, record.placement));
  if (replaces) regretted_.reset();
  trial_ = Trial{.record = std::move(record), .before = std::move(before)};
}

void ActionOutcome::add(double seconds, bool is_masked) {
  constexpr std::size_t kLongest = 64;
  if (regretted_) regretted_->undo_pause.add();
  if (!trial_) return;
  (is_masked ? trial_->masked_s : trial_->seconds).push_back(seconds);
  const std::size_t known = trial_->seconds.size();
  if (known == IterationLoss::kSettled || known + trial_->masked_s.size() == kLongest) settle();
}

void ActionOutcome::disturb() {
  if (trial_) trial_->is_disturbed = true;
  if (!regretted_ || regretted_->undo_pause.has_failed()) return;  // then it was known before
  regretted_->is_disturbed = is_worse_from_start(regretted_->seconds, regretted_->record.measured_s);
  if (!regretted_->is_disturbed) regretted_.reset();
}

// Masked iterations tell what it achieved only where there are no others.
void ActionOutcome::settle() {
  Trial trial = *std::exchange(trial_, {});
  trial.record.achieved_s = upper_median_of(trial.seconds.empty() ? trial.masked_s : trial.seconds);
  for (MitigationRecord& record : told_one_by_one(trial.record, trial.before, shape_))
    records_.push_back(std::move(record));
  judge(std::move(trial));
}

void ActionOutcome::judge(Trial trial) {
  constexpr double kDoubtful = 1.1;  // so many times what was predicted is more than an inexact forecast
  if (trial.seconds.size() < IterationLoss::kFewest) return;
  const MitigationRecord& record = trial.record;
  const bool is_worse = record.achieved_s > (1 + kWorse) * record.measured_s + chance_s(trial.seconds);
  // From the middle on, as the median says nothing of what was slow for less.
  if (is_worse || record.achieved_s > kDoubtful * record.predicted_s)
    doubt_ = record.step + static_cast<std::int64_t>(IterationLoss::kFewest);
  if (is_worse && !record.is_revert && !trial.is_disturbed && !regretted_) regretted_ = std::move(trial);
}

std::optional<MitigationRecord> ActionOutcome::undo(const RunPlacement& now, const ActionCosts& costs) const {
  if (!is_regretted()) return {};
  const MitigationRecord& action = regretted_->record;
  return MitigationRecord{.strategy = action.strategy,
                          .is_revert = true,
                          .made_worse = true,
                          .is_disturbed = regretted_->is_disturbed,
                          .components = action.components,
                          .placement = without(action, regretted_->before, now),
                          .lost_s = action.lost_s,
                          .expected_cost_s = std::min(costs.seconds(action.strategy), action.lost_s),
                          .predicted_s = action.measured_s};
}

std::vector<MitigationRecord> ActionOutcome::take_records(bool all, double recent_s) {
  if (all && trial_) {
    trial_->is_disturbed = true;
    if (trial_->seconds.empty() && trial_->masked_s.empty()) trial_->masked_s = {recent_s};
    settle();
  }
  return std::exchange(records_, {});
}

}  // namespace tenax::resilience
