// ReplanPolicy: which schedule a pipeline runs, and when another one is worth a search.
#pragma once

#include <cstdint>
#include <optional>

#include "parallel/planner/schedule_planner.hpp"
#include "resilience/adaptation/adaptation_settings.hpp"
#include "resilience/adaptation/schedule_scorer.hpp"
#include "resilience/adaptation/situation.hpp"

namespace tenax::resilience {

/// Pure: the search itself is the caller's. Plans that do not pay make it wait: 2, 4, … 64
/// iterations.
class ReplanPolicy {
 public:
  /// `home`: the schedule for unknown stragglers, which a healthy pipeline goes back to; running
  /// now.
  ReplanPolicy(int microbatches, parallel::ActivationLimit limit, parallel::PipelineSchedule home,
               const AdaptationSettings& settings);

  const parallel::PipelineSchedule& home() const { return home_; }
  const parallel::PipelineSchedule& running() const { return running_; }

  /// An iteration has so many from now on, in the order of `home`, which runs now. A plan that is
  /// awaited is of no use any more.
  void set_microbatches(int microbatches, parallel::PipelineSchedule home);

  /// The pipeline clearly changed in iteration `step`: what did not pay before may pay now.
  void end_patience(std::int64_t step);
  /// Whether a wait for another search ends with iteration `step`.
  bool patience_ends(std::int64_t step) const { return fruitless_plans_ > 0 && step == quiet_until_; }

  /// Whether a search may pay after iteration `step`, for expected `costs` of the paths as they are
  /// chosen: unless it was made for such costs already, or the running schedule is near the lower
  /// bound. False while a plan is awaited.
  bool may_pay(std::int64_t step, const parallel::PipelineCosts& costs, const ScheduleScorer& scorer,
               const PipelineForecast& forecast, const GainThreshold& threshold) const;
  /// What to search for. A plan is awaited from now on.
  parallel::PlanRequest request(const parallel::PipelineCosts& costs);
  /// No plan is awaited: nobody looks for one.
  void retract_request();
  bool awaits_plan() const { return is_awaited_; }
  /// The awaited plan has come. Throws Error(operation) if it breaks the limit.
  void receive(const parallel::Plan& plan);

  /// Takes the best of the running schedule, the plan (may be null) and the one to go back to.
  /// Returns it if it is another than the running one.
  std::optional<parallel::PipelineSchedule> choose(std::int64_t step, const ScheduleScorer& scorer,
                                                   const GainThreshold& threshold, bool is_healthy,
                                                   const parallel::Plan* plan);

 private:
  const parallel::PipelineSchedule& best(const ScheduleScorer& scorer, const GainThreshold& threshold,
                                         bool is_healthy, const parallel::Plan* plan) const;

  int microbatches_;
  parallel::ActivationLimit limit_;
  bool reschedules_;
  parallel::PlanBudget budget_;
  std::uint64_t seed_;
  parallel::PipelineSchedule home_, running_;
  std::optional<parallel::PipelineCosts> planned_;  // for what the last plan was made
  bool is_awaited_ = false;
  int fruitless_plans_ = 0;
  std::int64_t quiet_until_ = 0;
};

}  // namespace tenax::resilience
