// PipelineRunner: runs this rank's row of the pipeline schedule, for training and for evaluation, over links that may
// change between iterations.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "model/pipeline_stage.hpp"
#include "parallel/execution/schedule_executor.hpp"
#include "parallel/replica/pipeline_links.hpp"

namespace tenax::parallel {

class PipelineRunner {
 public:
  using Row = std::vector<PipelineOp>;
  /// The stage with memory for that many live microbatches; called before the first iteration and between iterations. It
  /// lives until the next call, and as long as the runner.
  using Allocate = std::function<model::PipelineStage&(int slots)>;
  /// Hears of the passes that are about to run. May be empty.
  using Announce = std::function<void(const Row& row)>;

  /// Collective over the world. Begins with the layout's schedule. References must outlive the runner.
  PipelineRunner(const Layout& layout, const ProcessGrid& grid, const PipelineContext& context,
                 Allocate allocate, Announce announce);

  /// Between iterations, equal on all ranks of the pipeline: what runs from now on. Its number of microbatches is that of the
  /// iterations to come.
  void set_schedule(const PipelineSchedule& schedule);
  PipelineLinks& links() { return links_; }

  /// One iteration's passes, all messages delivered; on an asynchronous device the last ones may still run. `observer` may
  /// be null and is told by report(). Without an observer and without neighbours they may be part of a graph, whose passes
  /// nobody can ask for.
  void train(const model::GradientsReady& ready, ScheduleObserver* observer);
  /// Tells train()'s observer of the last iteration. Waits for its passes.
  void report();
  /// Forward passes alone.
  void evaluate();

  /// The last iteration's passes must be run again, on all ranks: PipelineLinks::is_void.
  bool is_void() const { return links_.is_void(); }
  /// For how long what was launched may run once train() or evaluate() has returned: the deadline is for each pass.
  double patience_s() const;
  /// This rank's row of the schedule that the next iteration runs.
  const Row& planned_row() const { return training_->row(); }

 private:
  ExecutorOptions executor_options() const;
  void allocate_for(const PipelineSchedule& schedule);

  const Layout& layout_;
  PipelineContext context_;
  int stage_index_;
  Allocate allocate_;
  Announce announce_;
  model::PipelineStage* stage_ = nullptr;
  PipelineLinks links_;
  int slots_ = 0;
  ScheduleObserver* observer_ = nullptr;
  bool has_run_ = false;  // and nobody was told yet
  bool is_warm_ = false;
  std::unique_ptr<ScheduleExecutor> training_, evaluation_;
};

}  // namespace tenax::parallel
