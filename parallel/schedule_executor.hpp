// ScheduleExecutor: runs one rank's row of a pipeline schedule, whatever the policy it came from.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "comm/link.hpp"
#include "model/pipeline_stage.hpp"
#include "parallel/pipeline_schedule.hpp"
#include "parallel/schedule_observer.hpp"

namespace tenax::parallel {

/// Links to the stages before and after; null at the pipeline's ends. Owned by the caller.
struct PipelineNeighbours {
  comm::Link* upstream = nullptr;
  comm::Link* downstream = nullptr;
};

struct ExecutorOptions {
  int slots = 1;           ///< how many activations may be live; the stage has at least as many slots
  double deadline_s = 60;  ///< for a neighbour's message
  /// How long to wait for the input of the row's next op before another op of the row that is ready goes first; infinite:
  /// the row is run as it stands.
  double patience_s = std::numeric_limits<double>::infinity();
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
/// A row of forward passes alone (evaluation) is a schedule too: then a slot is free after its F.
class ScheduleExecutor {
 public:
  /// References must outlive the executor; executors that share a link run one at a time.
  ScheduleExecutor(model::PipelineStage& stage, kernels::Device& device, PipelineNeighbours neighbours,
                   std::vector<PipelineOp> row, ExecutorOptions options);

  /// Runs the row once. `ready` hears of final gradients during the last weight pass; `progress` is called between ops so
  /// that collectives under way move on. Throws Error(link) when a neighbour is silent for deadline_s.
  void run(const model::GradientsReady& ready = {}, const std::function<void()>& progress = {},
           ScheduleObserver* observer = nullptr);

  const std::vector<PipelineOp>& row() const { return row_; }

 private:
  struct Flight {  // one transfer of this run
    comm::TransferPtr transfer;
    TransferRecord record;
    bool complete = false;
    bool missed = false;  // was looked at and not complete since the last op
  };
  struct Microbatch {
    int slot = -1;
    bool forward_done = false, gradient_done = false;
    Flight input, output, d_output, d_input;  // received, sent, received, sent
  };
  struct Slot {
    bool free = true;
    Flight* input_reader = nullptr;   // the send that may still read the input's memory
    Flight* output_reader = nullptr;  // and the output's
  };
  struct Op {
    PipelineOp op;
    bool done = false;
    std::unique_ptr<kernels::Event> begin, end;
  };
  /// The row's ops of one kind, in its order. BW is a gradient and a weight pass.
  struct Lane {
    std::vector<int> ops;
    std::size_t next = 0;
    bool at(int index) const { return next < ops.size() && ops[next] == index; }
  };

  void reset();
  void post_receives();
  void post_inputs();
  void post_gradients();
  bool take_slot(Microbatch& microbatch);
  Op& choose();
  bool ready(int index);
  bool ready_forward(Microbatch& microbatch);
  template <class Ready>
  bool wait_until(Ready ready, double seconds);
  void press(const Op& entry);
  bool poll(Flight& flight);
  void settle(Flight& flight);
  void execute(Op& entry, const model::GradientsReady& ready);
  void compute(const Op& entry, Microbatch& microbatch, const model::GradientsReady& ready);
  void send(Flight& flight, TransferKind kind, const PipelineOp& op);
  void receive(Flight& flight, TransferKind kind, int microbatch, int slot);
  void release(Microbatch& microbatch);
  void report(ScheduleObserver& observer);
  Microbatch& of(const PipelineOp& op) { return microbatches_[static_cast<std::size_t>(op.microbatch)]; }

  model::PipelineStage& stage_;
  PipelineNeighbours neighbours_;
  ExecutorOptions options_;
  std::vector<PipelineOp> row_;
  bool forward_only_ = true;
  comm::Signal signal_;
  bool signalled_ = false;  // every link notifies: waits sleep instead of polling
  std::vector<Op> ops_;     // aligned with row_
  Lane forwards_, gradients_, weights_;
  std::size_t next_input_ = 0, first_open_ = 0;  // in forwards_.ops; in ops_
  std::vector<Microbatch> microbatches_;
  std::vector<Slot> slots_;
  std::vector<int> executed_;
};

}  // namespace tenax::parallel
