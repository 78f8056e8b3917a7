// ScheduleScorer: how long an iteration will take under a schedule, by the evaluator.
#pragma once

#include <vector>

#include "parallel/schedule/timeline.hpp"

namespace tenax::resilience {

/// Messages of `delegated` links overlap but for what holds the wire, direct links carry theirs as
/// `direct` says. Infinite where the schedule deadlocks in the direct links' queues.
double predict_s(const parallel::PipelineSchedule& schedule, const parallel::PipelineCosts& costs,
                 const parallel::TransferModel& direct, const std::vector<char>& delegated);

/// Scores a schedule by its mean over scenarios, so that one for restless links suits all that they
/// do.
class ScheduleScorer {
 public:
  ScheduleScorer(std::vector<parallel::PipelineCosts> scenarios, parallel::TransferModel direct,
                 std::vector<char> delegated);
  double mean_s(const parallel::PipelineSchedule& schedule) const;

 private:
  std::vector<parallel::PipelineCosts> scenarios_;
  parallel::TransferModel direct_;
  std::vector<char> delegated_;
};

/// Some pass differs by more than `pass_share` of itself, or some delay by more than `delay_share`
/// and its link's `material_s_of_link`.
bool differ_materially(const parallel::PipelineCosts& a, const parallel::PipelineCosts& b, double pass_share,
                       double delay_share, const std::vector<double>& material_s_of_link);

}  // namespace tenax::resilience
