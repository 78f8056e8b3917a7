// AdaptationController: decides, between iterations, how a pipeline answers what was measured of it
// (PipeMorph, NSDI 2026, sections 4 and 6): which links are slow, which of them go over delegates,
// and whether another schedule pays.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "resilience/adaptation/adaptation_decision.hpp"
#include "resilience/adaptation/adaptation_settings.hpp"
#include "resilience/adaptation/link_health.hpp"
#include "resilience/adaptation/path_policy.hpp"
#include "resilience/adaptation/pipeline_forecast.hpp"
#include "resilience/adaptation/replan_policy.hpp"
#include "resilience/adaptation/stage_health.hpp"

namespace tenax::resilience {

/// Pure: data in, decision out; no threads, no clock. It lives on one rank of a pipeline and its
/// decisions are told to the others. It never sees where delays come from.
class AdaptationController {
 public:
  /// `initial`: the schedule for unknown stragglers, which a healthy pipeline goes back to; running
  /// now.
  AdaptationController(int microbatches, parallel::ActivationLimit limit, parallel::PipelineSchedule initial,
                       AdaptationSettings settings);

  /// An iteration has so many from now on, in the order of `home`, which runs now. What is known of
  /// links and stages stays known. A plan that was asked for must not be handed in any more.
  void set_microbatches(int microbatches, parallel::PipelineSchedule home);

  /// After iteration `step`. Cheap (microseconds) while nothing changes.
  void observe(std::int64_t step, const PipelineMeasurement& measurement,
               const std::vector<LinkCondition>& links);
  /// A new schedule may pay: the caller runs plan_adaptive(request()), now or on a thread of its
  /// own, and hands the plan to decide() at this or a later boundary. False while such a plan is
  /// awaited.
  bool wants_plan() const { return wants_plan_; }
  parallel::PlanRequest request();
  /// Nobody could look for what request() told: it is wanted again.
  void retract_request();

  /// What to do before the next iteration; without a plan: what needs none. The caller carries it
  /// out.
  AdaptationDecision decide(const parallel::Plan* plan = nullptr);

  const parallel::PipelineSchedule& running() const { return replan_.running(); }

 private:
  void settle(std::int64_t step, double iteration_s);
  bool moved_since(const parallel::PipelineCosts& before, const parallel::PipelineCosts& now) const;
  bool something_moved() const;
  void assess();
  void compare_with_evaluator(const PipelineMeasurement& measurement);
  bool is_healthy() const;
  parallel::PipelineCosts expected_costs() const;  ///< with the paths as they are chosen
  parallel::PipelineCosts lasting_costs() const;
  bool renews_costs() const;
  ScheduleScorer scorer() const;
  std::vector<AdaptationEvent> events(bool is_rescheduled);
  void report_schedule(AdaptationEvent now, std::vector<AdaptationEvent>& events) const;

  AdaptationSettings settings_;
  PipelineForecast forecast_;
  GainThreshold threshold_;
  LinkHealth link_health_;
  StageHealth stage_health_;
  PathPolicy paths_;
  ReplanPolicy replan_;
  std::optional<parallel::PipelineCosts> assessed_;  // for what the last assessment was made
  double assessed_unexplained_s_ = 0;
  std::optional<parallel::PipelineCosts> told_;  // by which rows know when an input is late
  int calm_ = 0;                                 // iterations since something clearly changed
  std::vector<AdaptationEvent> unsettled_, settled_;
  std::int64_t step_ = 0;
  int observed_ = 0;
  double iteration_s_ = 0, predicted_s_ = 0;
  bool assessed_now_ = false, wants_plan_ = false;
};

}  // namespace tenax::resilience
