// RowTraffic: the messages of one run of a row, and the memory that they come into and go from.
#pragma once

#include <memory>
#include <vector>

#include "comm/link.hpp"
#include "model/pipeline_stage.hpp"
#include "parallel/schedule/schedule_observer.hpp"

namespace tenax::parallel {

/// Links to the stages before and after; null at the pipeline's ends. Owned by the caller.
struct PipelineNeighbours {
  comm::Link* upstream = nullptr;
  comm::Link* downstream = nullptr;
};

/// Receives are posted when their memory is free in fact: the passes that used it have run, and what was sent from it has
/// left. Passes may write memory sooner: on an asynchronous device it is their stream that waits for a send.
///
/// Thread rule: one thread. Every function may throw Error(link) of a transfer that has failed.
class RowTraffic {
 public:
  struct Order {
    std::vector<int> forwards, gradients;  ///< microbatches, in the row's order
  };
  /// References must outlive it. `slots`: how many activations may be live.
  RowTraffic(model::PipelineStage& stage, kernels::Device& device, PipelineNeighbours neighbours, Order order,
             int slots, double deadline_s);

  /// Before a run.
  void reset();
  void post();

  /// May the pass be launched, as far as memory and messages go? `ahead`: also when the device would wait for the message.
  bool ready_forward(int microbatch, bool ahead);
  bool ready_gradient(int microbatch, bool ahead);
  /// Right before and after the pass is launched.
  void begin_forward(int microbatch);
  void begin_gradient(int microbatch);
  void end_forward(int microbatch);
  void end_gradient(int microbatch);
  /// The microbatch's last pass, which ends at `last`, was launched.
  void release(int microbatch, const kernels::Event& last);
  int slot(int microbatch) const { return of(microbatch).slot; }
  bool has_gradient(int microbatch) const { return of(microbatch).gradient_done; }  ///< launched

  /// What is found complete from now on may have arrived while an op ran.
  void clear_misses();
  /// Asynchronous devices: looks at everything under way, so that it moves on and failures are noticed; true when nothing is.
  bool watch();
  /// The deadline of something this microbatch lacks is over: ends in the words of its link, unless the link finds another
  /// way (then it is here on return).
  void demand(int microbatch);
  /// Waits for all that is under way: at the end of a run.
  void settle();
  /// Nobody will wait for what is under way; streams that do go on.
  void cancel() noexcept;

  /// Of a pass that has one; null where there was no transfer.
  const TransferRecord* received(Pass pass, int microbatch) const;
  const TransferRecord* sent(Pass pass, int microbatch) const;

 private:
  struct Flight {  // one transfer of this run
    comm::TransferPtr transfer;
    TransferRecord record;
    bool complete = false;
    bool missed = false;  // was looked at and not complete since the last op
  };
  struct Microbatch {
    int slot = -1;
    bool forward_done = false, gradient_done = false;  // launched
    Flight input, output, d_output, d_input;           // received, sent, received, sent
  };
  struct Slot {
    bool free = true;
    const kernels::Event* last_use = nullptr;  // of an asynchronous device
    Flight* input_reader = nullptr;            // the send that may still read the input's memory
    Flight* output_reader = nullptr;           // and the output's
  };

  void post_inputs();
  void post_gradients();
  bool take_slot(Microbatch& microbatch);
  bool poll(Flight& flight);
  bool is_here(Flight& flight, bool ahead);
  void order(Flight& flight);
  std::vector<Flight*> missing(Microbatch& microbatch);
  void settle(Flight& flight);
  void send(Flight& flight, TransferKind kind, int microbatch);
  void receive(Flight& flight, TransferKind kind, int microbatch);
  Microbatch& of(int microbatch) { return microbatches_[static_cast<std::size_t>(microbatch)]; }
  const Microbatch& of(int microbatch) const { return microbatches_[static_cast<std::size_t>(microbatch)]; }

  model::PipelineStage& stage_;
  PipelineNeighbours neighbours_;
  const Order order_;
  const std::size_t slot_count_;
  const double deadline_s_;
  kernels::Device& device_;
  const bool is_asynchronous_;
  std::unique_ptr<kernels::Stream>
      idle_;  // of an asynchronous device: receives need not wait for the stage's stream
  std::size_t next_input_ = 0, next_gradient_ = 0;  // in order_
  std::vector<Microbatch> microbatches_;
  std::vector<Slot> slots_;
  std::vector<Flight*> open_;  // of an asynchronous device: not known to be complete
};

}  // namespace tenax::parallel
