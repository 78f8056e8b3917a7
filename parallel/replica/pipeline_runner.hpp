// PipelineRunner: runs this rank's row of the pipeline schedule, for training and for evaluation,
// over links that may change between iterations.
#pragma once

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <vector>

#include "model/pipeline_stage.hpp"
#include "parallel/execution/schedule_executor.hpp"
#include "parallel/replica/pipeline_links.hpp"

namespace tenax::parallel {

class PipelineRunner {
 public:
  using Row = std::vector<PipelineOp>;
  /// Returns the stage, with memory for `slots` live microbatches. Called before the first
  /// iteration and between iterations. The stage lives until the next call, and as long as the
  /// runner.
  using Allocate = std::function<model::PipelineStage&(int slots)>;
  /// Is told of the passes that are about to run. May be empty.
  using Announce = std::function<void(const Row& row)>;

  /// Collective over the world. Begins with the layout's schedule. References must outlive the
  /// runner.
  PipelineRunner(const Layout& layout, const ProcessGrid& grid, const PipelineContext& context,
                 Allocate allocate, Announce announce);

  /// Between iterations, equal on all ranks of the pipeline: the next iterations run `schedule`,
  /// with its number of microbatches, and so do later ones of that number. By `costs` it tells when
  /// an input is late, whatever schedule it runs.
  void set_schedule(const PipelineSchedule& schedule, const PipelineCosts& costs);
  /// Likewise, of the costs alone: the executors stay.
  void set_costs(const PipelineCosts& costs);
  /// The layout's, until others are set.
  const PipelineCosts& costs() const { return costs_; }
  /// Likewise: the next iterations have so many microbatches, at least one.
  void set_microbatches(int microbatches);
  /// Plans the schedules of these numbers on other threads, so that set_microbatches() need not.
  void plan_ahead(const std::vector<int>& microbatches);
  PipelineLinks& links() { return links_; }

  /// Runs one iteration's passes and delivers all messages. On an asynchronous device the last
  /// passes may still run on return. `observer` may be null; report() tells it. Without observer
  /// and neighbours the passes may be captured as part of a graph.
  void train(const model::GradientsReady& ready, ScheduleObserver* observer);
  /// Tells train()'s observer of the last iteration. Waits for its passes.
  void report();
  /// Forward passes alone.
  void evaluate();

  /// Whether all ranks must run the last iteration's passes again (PipelineLinks::is_void).
  bool is_void() const { return links_.is_void(); }
  /// How long launched passes may still run after train() or evaluate(): the deadline holds for
  /// each pass.
  double patience_s() const;
  /// This rank's row of the schedule that the next iteration runs.
  const Row& planned_row() const { return training_->row(); }

 private:
  ExecutorOptions executor_options() const;
  ExecutorOptions training_options(const PipelineSchedule& schedule) const;
  void allocate_for(const PipelineSchedule& schedule);
  const PipelineSchedule& schedule_of(int microbatches);
  void build_executors(const PipelineSchedule& schedule);

  const Layout& layout_;
  PipelineContext context_;
  int stage_index_;
  Allocate allocate_;
  Announce announce_;
  model::PipelineStage* stage_ = nullptr;
  PipelineLinks links_;
  PipelineCosts costs_;
  std::map<int, PipelineSchedule> schedules_;             // by number of microbatches
  std::map<int, std::future<PipelineSchedule>> planned_;  // ahead, not in schedules_
  int microbatches_ = 0;                                  // of the executors
  int slots_ = 0;
  ScheduleObserver* observer_ = nullptr;
  bool has_run_ = false;  // and nobody was told yet
  bool is_warm_ = false;
  std::unique_ptr<ScheduleExecutor> training_, evaluation_;
};

}  // namespace tenax::parallel
