// PipelineRunner: runs this rank's row of the pipeline schedule, for training and for evaluation, over links that may
// change between iterations.
#pragma once

#include <functional>
#include <memory>

#include "app/pipeline_adaptation.hpp"
#include "app/pipeline_links.hpp"
#include "model/pipeline_stage.hpp"
#include "parallel/schedule_executor.hpp"
#include "resilience/pass_times.hpp"

namespace tenax::app {

class PipelineRunner {
 public:
  using Row = std::vector<parallel::PipelineOp>;
  /// The stage with memory for that many live microbatches; called before the first iteration and between iterations. It
  /// lives until the next call, and as long as the runner.
  using Allocate = std::function<model::PipelineStage&(int slots)>;
  /// Hears of the passes that are about to run. May be empty.
  using Announce = std::function<void(const Row& row)>;

  /// Collective over the world. References must outlive the runner.
  PipelineRunner(const Layout& layout, const parallel::ProcessGrid& grid, const PipelinePlace& place,
                 Allocate allocate, Announce announce);

  /// One iteration's passes, all messages delivered; on an asynchronous device the last ones may still run. Without an
  /// observer and without neighbours they may be part of a graph, whose passes nobody can ask for.
  void train(const model::GradientsReady& ready, parallel::ScheduleObserver* observer);
  /// Tells train()'s observer, which may be null, of the last iteration, and measures it for adapt(). Waits for its passes.
  void report();
  /// Forward passes alone.
  void evaluate();

  /// Collective over `world`, after each training step: measures, and changes paths and schedule as that demands.
  void adapt(std::int64_t step, bool path_failed, comm::ControlGroup& world);
  bool path_failed() const { return links_.path_failed(); }
  /// The last iteration's passes must be run again, on all ranks: PipelineLinks::is_void.
  bool is_void() const { return links_.is_void(); }
  /// For how long what was launched may run once train() or evaluate() has returned: comm.deadline_s is for each pass.
  double patience_s() const;
  /// This rank's row of the schedule that the next iteration runs.
  const std::vector<parallel::PipelineOp>& planned_row() const { return training_->row(); }
  /// What this rank's passes took in the last iteration that report() told of, which is every one but those without an
  /// observer: in every layout.
  const resilience::StageMeasurement& pass_times() const { return pass_times_; }
  bool has_events() const { return adaptation_ && adaptation_->has_events(); }
  /// What adapt() did since the last call; on the pipeline's first rank.
  std::vector<resilience::AdaptationEvent> take_events(bool last);

 private:
  void set_schedule(const parallel::PipelineSchedule& schedule);

  const Layout& layout_;
  PipelinePlace place_;
  int stage_index_;
  Allocate allocate_;
  Announce announce_;
  model::PipelineStage* stage_ = nullptr;
  PipelineLinks links_;
  std::unique_ptr<PipelineAdaptation> adaptation_;  // null: this pipeline never changes
  resilience::PassTimes passes_;
  resilience::StageMeasurement pass_times_;
  int slots_ = 0;
  parallel::ScheduleObserver* observer_ = nullptr;
  bool has_run_ = false;  // and nobody was told yet
  bool is_warm_ = false;
  std::unique_ptr<parallel::ScheduleExecutor> training_, evaluation_;
};

}  // namespace tenax::app
