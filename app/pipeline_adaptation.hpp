// PipelineAdaptation: one pipeline's measuring, deciding and changing between iterations. The decisions are
// resilience/'s, taken on the pipeline's first rank; this class carries them out on all of its ranks alike.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "app/pipeline_links.hpp"
#include "comm/control_group.hpp"
#include "resilience/adaptation_controller.hpp"
#include "resilience/pipeline_monitor.hpp"

namespace tenax::app {

class PipelineAdaptation {
 public:
  /// Collective over the world. References must outlive it.
  PipelineAdaptation(const Layout& layout, const parallel::ProcessGrid& grid, const PipelinePlace& place,
                     PipelineLinks& links);
  ~PipelineAdaptation();

  parallel::ScheduleObserver& monitor() { return *monitor_; }

  /// Collective over `world` after training step `step`, which the monitor observed: changes paths, and returns the
  /// schedule that runs from now on, if it is another. `passes`: this rank's in that step. `path_failed`: some rank of the
  /// world gave up a direct path.
  std::optional<parallel::PipelineSchedule> finish_step(std::int64_t step,
                                                        const resilience::StageMeasurement& passes,
                                                        bool path_failed, comm::ControlGroup& world);
  /// On the pipeline's first rank: what was done, once it is known what came of it; `last`: also the rest.
  std::vector<resilience::AdaptationEvent> take_events(bool last);
  bool has_events() const { return !events_.empty(); }

 private:
  bool leads() const { return group_->rank() == 0; }
  resilience::AdaptationDecision decide(std::int64_t step, const resilience::PipelineMeasurement& measurement,
                                        const std::vector<resilience::LinkCondition>& conditions);
  void look_for_plan();
  void apply_paths(const std::vector<resilience::LinkPath>& paths);
  std::vector<resilience::LinkCondition> look_at_paths(std::int64_t step, bool path_failed,
                                                       comm::ControlGroup& world);
  std::vector<char> learn_failures(std::vector<resilience::LinkCondition>& conditions);
  void restore_innocent(const std::vector<char>& innocent, std::vector<resilience::LinkCondition>& conditions,
                        comm::ControlGroup& world);
  void retry_direct(const std::vector<char>& links, comm::ControlGroup& world);

  const Layout& layout_;
  PipelineLinks& links_;
  std::unique_ptr<comm::Endpoint> control_;
  std::unique_ptr<comm::ControlGroup> group_;  // this pipeline's ranks, all lanes; its first rank leads
  std::unique_ptr<resilience::PipelineMonitor> monitor_;
  std::unique_ptr<resilience::AdaptationController> controller_;  // on the leader
  std::future<parallel::Plan> planning_;
  std::vector<resilience::LinkPath> paths_;
  std::vector<char> broken_;                       // per link: its direct path has failed
  bool world_has_broken_ = false;                  // some pipeline's: equal on all ranks of the world
  std::int64_t retry_pause_ = 0, next_retry_ = 0;  // in steps: likewise
  std::vector<resilience::AdaptationEvent> events_,
      awaited_;  // awaited: the next iteration tells what they achieve
};

}  // namespace tenax::app
