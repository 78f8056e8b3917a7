// AdaptationController: decides, between iterations, how a pipeline answers what was measured of it
// (PipeMorph, NSDI 2026, sections 4 and 6): which links are slow, which of them go over delegates, and
// whether another schedule pays.
//
// Pure: data in, decision out; no threads, no clock. It lives on one rank of a pipeline and its decisions are
// told to the others. It never sees where delays come from.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "parallel/planner/schedule_planner.hpp"
#include "parallel/replica/pipeline_context.hpp"
#include "parallel/schedule/timeline.hpp"
#include "resilience/adaptation/adaptation_decision.hpp"
#include "resilience/adaptation/flap_damper.hpp"
#include "resilience/adaptation/link_samples.hpp"
#include "resilience/adaptation/pipeline_forecast.hpp"
#include "resilience/adaptation/schedule_scorer.hpp"

namespace tenax::resilience {

using parallel::PathChoice;

struct AdaptationSettings {
  PathChoice paths = PathChoice::automatic;
  bool reschedule = true;          ///< false: the schedule stays whatever is measured
  parallel::TransferModel direct;  ///< how a direct link carries messages (its `delegated` is not used)
  double delegate_overhead_s = 0;  ///< what a delegate's host copies take, half at each end
  double gain = 0.01;              ///< a schedule, or a slow link, must make this share of an iteration
  int skipped_iterations = 1;      ///< of the run's beginning: memory is touched for the first time there
  int healing_iterations = 1;      ///< that the forecast must call a slow link healthy before it goes back
  int max_delegates = 16;          ///< per link and direction
  FlapDamper::Options damping;     ///< of links that go back and forth between direct path and delegates
  ForecastOptions forecast;
  parallel::PlanBudget budget;
  std::uint64_t seed = 1;
};

/// How a link was run in the iteration that was measured.
struct LinkCondition {
  bool delegated = false;     ///< when the iteration began
  bool direct_usable = true;  ///< now; false: its direct path is broken, and it must be delegated
  /// Messages that came over either path, where the direct one broke in this iteration.
  int direct_messages = 0, delegated_messages = 0;

  bool just_broke() const { return !delegated && !direct_usable; }
};

class AdaptationController {
 public:
  /// `initial`: the schedule for unknown stragglers, which a healthy pipeline goes back to; running now.
  AdaptationController(int microbatches, parallel::ActivationLimit limit, parallel::PipelineSchedule initial,
                       AdaptationSettings settings);

  /// After iteration `step`. Cheap (microseconds) while nothing changes.
  void observe(std::int64_t step, const PipelineMeasurement& measurement,
               const std::vector<LinkCondition>& links);
  /// A new schedule may pay: the caller runs plan_adaptive(request()), now or on a thread of its own, and
  /// hands the plan to decide() at this or a later boundary. False while such a plan is awaited.
  bool wants_plan() const { return wants_plan_; }
  parallel::PlanRequest request();

  /// What to do before the next iteration; without a plan: what needs none. The caller carries it out.
  AdaptationDecision decide(const parallel::Plan* plan = nullptr);

  const parallel::PipelineSchedule& running() const { return running_; }
  bool is_slow(int link) const { return links_[static_cast<std::size_t>(link)].slow; }

 private:
  struct Link {
    bool slow = false;
    double reported_s = 0;       // the delay of the last straggler event; 0 = none since it was healthy
    int healthy_iterations = 0;  // while slow
    LinkPath path, told;         // chosen now; in the last decision, as it is run
    LinkCondition condition;
    FlapDamper damper;
  };
  struct Stage {
    double normal_s = 0;  // the least F + B + W so far
    bool slow = false, reported = false;
    std::int64_t changed_at = 0;  // the step after which `slow` became what it is
  };
  /// A stage is reported when it has been slow for this long, and again only after it has been healthy for as long: what
  /// else a busy machine does comes and goes.
  static constexpr std::int64_t kLasting = 8;

  void settle(std::int64_t step, double iteration_s);
  bool something_moved() const;
  void assess(const PipelineMeasurement& measurement);
  void compare_with_evaluator(const PipelineMeasurement& measurement);
  double least_gain_s(double iteration_s) const;
  void find_slow_links(const parallel::PipelineCosts& costs);
  bool makes_slow(const parallel::PipelineSchedule& schedule, const parallel::PipelineCosts& costs, int link,
                  const std::vector<char>& delegated) const;
  void find_slow_stages();
  void choose_paths(const parallel::PipelineCosts& costs);
  void damp_flapping();
  bool should_delegate(int link, const parallel::PipelineCosts& costs) const;
  int delegates_for(int link, const parallel::PipelineCosts& costs) const;
  PipelineMeasurement without_copies(PipelineMeasurement measurement) const;
  bool plan_may_pay() const;
  bool healthy() const;
  std::vector<char> delegated_links() const;
  parallel::PipelineCosts with_overheads(parallel::PipelineCosts costs) const;
  ScheduleScorer make_scorer() const;
  const parallel::PipelineSchedule& best_schedule(const ScheduleScorer& scorer,
                                                  const parallel::Plan* plan) const;
  void report_stragglers(std::vector<AdaptationEvent>& events);
  void report_paths(std::vector<AdaptationEvent>& events);
  void report_schedule(std::vector<AdaptationEvent>& events) const;

  int microbatches_;
  parallel::ActivationLimit limit_;
  AdaptationSettings settings_;
  parallel::PipelineSchedule home_, running_;
  PipelineForecast forecast_;
  std::vector<Link> links_;
  std::vector<Stage> stages_;
  std::optional<parallel::PipelineCosts> assessed_,
      planned_;  // for what the last assessment and plan were made
  std::vector<AdaptationEvent> unsettled_, settled_;
  std::int64_t step_ = 0, quiet_until_ = 0;
  int observed_ = 0, fruitless_plans_ = 0;
  double iteration_s_ = 0, predicted_s_ = 0;
  double unexplained_s_ =
      0;  // by how much iterations differ from what the evaluator makes of their measurements
  int compared_ = 0;
  bool assessed_now_ = false, wants_plan_ = false, planning_ = false;
};

}  // namespace tenax::resilience
