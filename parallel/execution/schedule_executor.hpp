// ScheduleExecutor: runs one rank's row of a pipeline schedule, whatever the policy it came from.
//
//   post receives whose memory is free <-----------------------------------+
//              v                                                           |
//   is the row's next op ready: its input here, a slot free? -- yes ---> LAUNCH, send its output without waiting
//              | no                                                        ^
//   WAIT for it                                                            |
//              | later than planned, and patience is over                  |
//   the row's first op that is ready, if there is one ---------------------+
//              | none until the deadline
//   DEMAND the missing message: Error(link), unless its link brings it over another path
//
//   When all ops are launched: SETTLE, wait for all messages. An error CANCELS what is under way.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "model/pipeline_stage.hpp"
#include "parallel/execution/row_traffic.hpp"
#include "parallel/schedule/pipeline_schedule.hpp"
#include "parallel/schedule/schedule_observer.hpp"

namespace tenax::parallel {

struct ExecutorOptions {
  int slots = 1;           ///< how many activations have memory; the stage has at least as many slots
  double deadline_s = 60;  ///< for a neighbour's message
  /// How long to wait for the late input of the row's next op before another op of the row that is
  /// ready goes first; infinite: the row is run as it stands.
  double patience_s = std::numeric_limits<double>::infinity();
  int launch_ahead = 1;  ///< asynchronous devices: how many ops are launched beyond the one that runs
  bool is_warm = false;  ///< the stage has run before: no library needs the whole device for itself any more
  /// Per op of the row: how long the plan idles before it. Its input is late after that. Empty: nowhere.
  std::vector<double> idle_before_s = {};
  /// Activations that may be live; at least the row's peak. Other slots are for messages that arrive
  /// meanwhile.
  int most_live = std::numeric_limits<int>::max();
};

class RowDriver;

/// The transfers follow from the row: an F needs its activation from upstream and sends one
/// downstream, a B (or BW) the same with gradients the other way. Receives are posted as soon as
/// their memory is free. Sends do not block. Memory is not written again before the send of what it
/// held is complete.
///
/// When an input is late the row bends within the iteration, which PipeMorph (NSDI 2026, section 8)
/// leaves open. Forwards among themselves, activation gradients and weight gradients each keep the
/// row's order, and never are more activations live than there are slots, or
/// than options.most_live. So (a) weight gradients are
/// added in the same order as ever: equal bits; (b) no deadlock: all microbatches that a stage
/// holds are earlier than the forward it lacks, so the earliest unfinished one can always go on
/// somewhere.
///
/// An asynchronous device runs behind the launches: asynchronous_driver.hpp says how far.
///
/// A row of forward passes alone (evaluation) is a schedule too: then a slot is free after its F.
class ScheduleExecutor {
 public:
  /// References must outlive the executor; executors that share a link run one at a time.
  ScheduleExecutor(model::PipelineStage& stage, kernels::Device& device, PipelineNeighbours neighbours,
                   std::vector<PipelineOp> row, ExecutorOptions options);
  ~ScheduleExecutor();

  /// Runs the row once and returns when all messages have arrived and left. `ready` hears of final
  /// gradients during the last weight pass. Throws Error(link) when a neighbour is silent for
  /// deadline_s.
  ///
  /// On an asynchronous device the ops launched last may still be running then, but never on
  /// anything that failed to come, unless its link says so (comm::FailoverLink::is_void).
  void run(const model::GradientsReady& ready = {});
  /// Tells of the last run, before the next. Waits until its ops have run.
  void report(ScheduleObserver& observer);
  /// Between runs: as the options of these names, from the next run on.
  void expect_inputs(double patience_s, std::vector<double> idle_before_s);

  const std::vector<PipelineOp>& row() const;

 private:
  std::unique_ptr<RowDriver> driver_;
};

}  // namespace tenax::parallel
