// PipelineRunner: runs this rank's row of the pipeline schedule, for training and for evaluation, over links that may
// change between iterations.
#pragma once

#include <functional>
#include <memory>

#include "app/pipeline_adaptation.hpp"
#include "app/pipeline_links.hpp"
#include "model/pipeline_stage.hpp"
#include "parallel/schedule_executor.hpp"

namespace tenax::app {

class PipelineRunner {
 public:
  /// Gives the stage memory for that many live microbatches; called before the first iteration and between iterations.
  using Allocate = std::function<void(int slots)>;

  /// Collective over the world. References must outlive the runner.
  PipelineRunner(const Layout& layout, const parallel::ProcessGrid& grid, const PipelinePlace& place,
                 model::PipelineStage& stage, Allocate allocate);

  /// One iteration's passes, all messages delivered. `observer` may be null: then nothing is waited for to report it.
  void train(const model::GradientsReady& ready, parallel::ScheduleObserver* observer);
  /// Forward passes alone.
  void evaluate();

  /// Collective over `world`, after each training step: measures, and changes paths and schedule as that demands.
  void adapt(std::int64_t step, bool path_failed, comm::ControlGroup& world);
  bool path_failed() const { return links_.path_failed(); }
  bool has_events() const { return adaptation_ && adaptation_->has_events(); }
  /// What adapt() did since the last call; on the pipeline's first rank.
  std::vector<resilience::AdaptationEvent> take_events(bool last);

 private:
  void set_schedule(const parallel::PipelineSchedule& schedule);

  const Layout& layout_;
  PipelinePlace place_;
  int stage_index_;
  model::PipelineStage& stage_;
  Allocate allocate_;
  PipelineLinks links_;
  std::unique_ptr<PipelineAdaptation> adaptation_;  // null: this pipeline never changes
  int slots_ = 0;
  std::unique_ptr<parallel::ScheduleExecutor> training_, evaluation_;
};

}  // namespace tenax::app
