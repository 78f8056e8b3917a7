// PipelineAdaptation: measures and changes one pipeline between iterations. AdaptationController
// decides on the pipeline's first rank; this class carries that out on all of its ranks alike.
// Where nothing may change it only measures.
#pragma once

#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "comm/control_group.hpp"
#include "parallel/replica/replica.hpp"
#include "resilience/adaptation/adaptation_controller.hpp"
#include "resilience/adaptation/pipeline_monitor.hpp"

namespace tenax::resilience {

class PipelineAdaptation {
 public:
  /// Whether a replica's pipelines have a path or schedule that could change.
  static bool is_needed(parallel::Replica& replica, const AdaptationSettings& settings);
  /// Collective over the world. References must outlive it.
  PipelineAdaptation(parallel::Replica& replica, const parallel::PipelineContext& context,
                     const AdaptationSettings& settings);
  ~PipelineAdaptation();

  /// Collective over this rank's pipeline, between steps: the next ones have so many, and begin in
  /// the order for healthy links.
  void set_microbatches(int microbatches);

  /// Must be told of every training iteration.
  parallel::ScheduleObserver& monitor() { return *monitor_; }

  /// The outcome of the step's vote, equal on all ranks of the world.
  struct Agreed {
    bool path_failed = false;  ///< some rank gave up a direct path
    bool has_events = false;   ///< some pipeline had_events()
    bool measures = true;      ///< where it only measures: this step
  };
  /// Collective over the world, after training step `step`, which the monitor observed. Changes
  /// paths and schedule. `passes`: this rank's times in that step. Returns the events on rank 0, as
  /// soon as it knows of them: with several pipelines that is a step later.
  std::vector<AdaptationEvent> finish_step(std::int64_t step, const PassMeasurement& passes, Agreed agreed);
  /// Instead, not collective: the step is void, or not like others, and is not measured.
  void skip_step();
  /// What messages from the stage before and after took in the last step; 0 where it was not
  /// measured.
  struct Delays {
    double activations_s = 0, gradients_s = 0;
    bool activations_at_most = false, gradients_at_most = false;  ///< LinkMeasurement::at_most
  };
  Delays delays() const { return delays_; }
  /// When, by the steady clock, this pipeline's ranks had measured the last step: all of them had
  /// ended it. 0 where it was not measured.
  double measured_at_s() const { return measured_at_s_; }
  /// For the vote.
  bool path_failed() const { return links_.path_failed(); }
  bool has_events() const { return !events_.empty(); }
  /// Collective over the world, after the last step: the events that finish_step() has not
  /// returned.
  std::vector<AdaptationEvent> last_events() { return gather_events(true); }
  /// The same of this rank's own pipeline, not collective: after a failure.
  std::vector<AdaptationEvent> own_last_events();

 private:
  bool leads() const { return group_->rank() == 0; }
  bool has_siblings() const { return replica_.layout().grid.data > 1; }
  std::vector<AdaptationEvent> take_events(bool last);
  std::vector<AdaptationEvent> gather_events(bool last);
  PipelineMeasurement measure(const PassMeasurement& passes);
  void adapt(std::int64_t step, const PassMeasurement& passes, bool path_failed);
  AdaptationDecision decide(std::int64_t step, const PipelineMeasurement& measurement,
                            const std::vector<LinkCondition>& conditions);
  void look_for_plan();
  void apply_paths(const std::vector<LinkPath>& paths);
  std::vector<LinkCondition> look_at_paths(std::int64_t step, bool path_failed);
  std::vector<char> learn_failures(std::vector<LinkCondition>& conditions);
  void restore_unbroken(const std::vector<char>& unbroken, std::vector<LinkCondition>& conditions);
  void retry_direct(const std::vector<char>& links);

  const bool answers_;
  parallel::Replica& replica_;
  parallel::PipelineLinks& links_;
  std::unique_ptr<comm::Endpoint> control_;
  std::unique_ptr<comm::ControlGroup> group_;  // this pipeline's ranks, all lanes; its first rank leads
  std::unique_ptr<PipelineMonitor> monitor_;
  std::map<int, parallel::PipelineSchedule> homes_;   // for healthy links, by the number of microbatches
  std::unique_ptr<AdaptationController> controller_;  // on the leader
  std::future<parallel::Plan> planning_;
  Delays delays_;
  double measured_at_s_ = 0;
  std::vector<LinkPath> paths_;
  std::vector<char> broken_;                       // per link: its direct path has failed
  bool world_has_broken_ = false;                  // some pipeline's: equal on all ranks of the world
  std::int64_t retry_pause_ = 0, next_retry_ = 0;  // in steps: likewise
  std::vector<AdaptationEvent> events_, awaited_;  // awaited: the next iteration tells what they achieve
};

}  // namespace tenax::resilience
