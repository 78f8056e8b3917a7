// ScheduleExecutor: runs one rank's row of a pipeline schedule, whatever the policy it came from.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "comm/signal.hpp"
#include "model/pipeline_stage.hpp"
#include "parallel/execution/row_traffic.hpp"
#include "parallel/schedule/pipeline_schedule.hpp"
#include "parallel/schedule/schedule_observer.hpp"

namespace tenax::parallel {

struct ExecutorOptions {
  int slots = 1;           ///< how many activations may be live; the stage has at least as many slots
  double deadline_s = 60;  ///< for a neighbour's message
  /// How long to wait for the input of the row's next op before another op of the row that is ready goes first; infinite:
  /// the row is run as it stands.
  double patience_s = std::numeric_limits<double>::infinity();
  /// Asynchronous devices: how many ops are launched beyond the one that runs. One is enough to hide launching, which takes
  /// less time than running; more would run into the driver's limit on launches ahead (1024), where launching blocks: a pass
  /// of a dozen layers has some 300.
  int launch_ahead = 1;
  bool is_warm = false;  ///< the stage has run before: no library needs the whole device for itself any more
};

/// The transfers follow from the row: an F needs its activation from upstream and sends one downstream, a B (or BW) the
/// same with gradients the other way. Receives are posted as soon as their memory is free, sends do not block, and memory
/// is not written again before the send of what it held is complete.
///
/// When an input is late (options.patience_s) the row bends within the iteration, which PipeMorph (NSDI 2026, section 8)
/// leaves open. Forwards among themselves, activation gradients and weight gradients each keep the row's order, and never
/// are more than options.slots activations live. So (a) weight gradients are added in the same order as ever: equal bits;
/// (b) no deadlock: all microbatches that a stage holds are earlier than the forward it lacks, the earliest unfinished
/// one can therefore always go on somewhere.
///
/// On an asynchronous device launching does not wait for messages: with infinite patience, up to options.launch_ahead ops
/// beyond the one that runs are launched in the row's order, and the device waits for their messages where their links can
/// order them so (comm::Transfer::orders_without_blocking); others are launched when their message is here, and so are all
/// of the first run unless options.is_warm: libraries may wait for the whole device then (memory, code, searches). With a finite
/// patience, at most one op is launched beyond the one that runs, and only when its message is here; the patience begins when
/// the device has nothing left to run. Without neighbours everything is launched at once, and no event is asked for
/// before report(), so that a run can be captured. run() returns when all messages have arrived and left, and throws if one
/// did not: the ops launched last may still be running, but never on anything that failed to come, unless its link says so
/// (comm::FailoverLink::is_void).
///
/// A row of forward passes alone (evaluation) is a schedule too: then a slot is free after its F.
class ScheduleExecutor {
 public:
  /// References must outlive the executor; executors that share a link run one at a time.
  ScheduleExecutor(model::PipelineStage& stage, kernels::Device& device, PipelineNeighbours neighbours,
                   std::vector<PipelineOp> row, ExecutorOptions options);

  /// Runs the row once. `ready` hears of final gradients during the last weight pass; `progress` is called between ops so
  /// that collectives under way move on. `observer`: report() at the end. Throws Error(link) when a neighbour is silent for
  /// deadline_s.
  void run(const model::GradientsReady& ready = {}, const std::function<void()>& progress = {},
           ScheduleObserver* observer = nullptr);
  /// Tells of the last run, before the next. Waits until its ops have run.
  void report(ScheduleObserver& observer);

  const std::vector<PipelineOp>& row() const { return row_; }

 private:
  struct Op {
    PipelineOp op;
    bool done = false;  // launched
    std::unique_ptr<kernels::Event> begin, end;
  };
  /// The row's ops of one kind, in its order. BW is a gradient and a weight pass.
  struct OpQueue {
    std::vector<int> ops;
    std::size_t next = 0;
    bool at(int index) const { return next < ops.size() && ops[next] == index; }
  };

  void reset();
  void await_room();
  Op& choose();
  int first_ready();
  bool ready(int index);
  template <class Ready>
  bool wait_until(Ready ready, double seconds);
  void demand(const Op& entry);
  void demand_running();
  std::size_t finished();
  bool is_idle() { return !is_asynchronous_ || finished() == executed_.size(); }
  void execute(Op& entry, const model::GradientsReady& ready);
  void compute(const Op& entry, const model::GradientsReady& ready);
  void settle();

  model::PipelineStage& stage_;
  kernels::Device& device_;
  PipelineNeighbours neighbours_;
  ExecutorOptions options_;
  std::vector<PipelineOp> row_;
  OpQueue forwards_, gradients_, weights_;
  RowTraffic traffic_;
  const bool bends_, is_asynchronous_;
  bool is_warm_;
  comm::Signal signal_;
  bool signalled_ = false;      // every link notifies: waits sleep instead of polling
  std::vector<Op> ops_;         // aligned with row_
  std::size_t first_open_ = 0;  // in ops_
  std::vector<int> executed_;   // launched, in that order
  std::size_t finished_ = 0;    // how many of executed_ are known to have run
};

}  // namespace tenax::parallel
