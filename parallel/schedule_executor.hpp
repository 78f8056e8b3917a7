// ScheduleExecutor: runs one rank's row of a pipeline schedule, whatever the policy it came from.
#pragma once

#include <functional>
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

/// The transfers follow from the order of the row: an F needs its activation from upstream and sends one
/// downstream, a B (or BW) the same with gradients the other way. Receives are posted as soon as their memory
/// is free, sends do not block, and memory is not written again before the send of what it held is complete.
///
/// A row of forward passes alone (evaluation) is a schedule too: then a slot is free after its F.
class ScheduleExecutor {
 public:
  /// `slot_of_op` as plan_slots gives it. `stage` must have that many slots. References must outlive the
  /// executor.
  ScheduleExecutor(model::PipelineStage& stage, kernels::Device& device, PipelineNeighbours neighbours,
                   std::vector<PipelineOp> ops, std::vector<int> slot_of_op, double deadline_s);

  /// Runs the row once. `ready` hears of final gradients during the last weight pass; `progress` is called
  /// between ops so that collectives under way move on. Throws Error(link) when a neighbour is silent for
  /// deadline_s.
  void run(const model::GradientsReady& ready = {}, const std::function<void()>& progress = {},
           ScheduleObserver* observer = nullptr);

 private:
  struct Flight {  // one transfer of this run
    comm::TransferPtr transfer;
    TransferRecord record;
    bool complete = false;
  };
  struct Op {
    PipelineOp op;
    int slot = 0;
    int memory_free_after = -1;  // the last earlier op on this slot; indices of ops, -1 = none
    int input_send = -1;         // the op whose send may still read the slot's input
    int output_send = -1;        // the op whose send may still read the slot's output
    std::unique_ptr<kernels::Event> begin, end;
    Flight receive, send;
  };

  bool receives(const Op& entry) const;
  void plan_memory_reuse();
  void post_receives(int next);
  void post_receive(Op& entry);
  void settle(Flight& flight);
  bool poll(Flight& flight);
  void finish_receive(Op& entry);
  void compute(Op& entry, const model::GradientsReady& ready);
  void send_result(Op& entry);
  void report(ScheduleObserver& observer) const;

  model::PipelineStage& stage_;
  kernels::Device& device_;
  PipelineNeighbours neighbours_;
  double deadline_s_;
  int first_weight_ = -1, last_weight_ = -1;  // op indices: overwrite, announce
  std::vector<Op> ops_;
};

}  // namespace tenax::parallel
