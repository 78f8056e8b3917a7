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

/// A receive is posted once its memory is free: the passes that used it have run, and the send from
/// it is complete. A pass may be launched sooner on an asynchronous device, whose stream then waits
/// for the send.
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

  /// Whether memory and messages allow a launch of the pass. `ahead`: also when the device would
  /// wait for the message.
  bool ready_forward(int microbatch, bool ahead);
  bool ready_gradient(int microbatch, bool ahead);
  /// To be called right before and after the launch of the pass.
  void begin_forward(int microbatch);
  void begin_gradient(int microbatch);
  void end_forward(int microbatch);
  void end_gradient(int microbatch);
  /// The microbatch's last pass, which ends at `last`, was launched.
  void release(int microbatch, const kernels::Event& last);
  int slot(int microbatch) const { return of(microbatch).slot; }
  bool has_gradient(int microbatch) const { return of(microbatch).gradient_done; }  ///< launched

  /// An op is launched: what is found complete afterwards may have arrived while it ran.
  void clear_misses();
  /// Looks at all transfers under way, so that they move on and failures are noticed. Returns true
  /// when none is left.
  bool watch();
  /// The deadline is over for a message that this microbatch lacks. Throws its link's error, unless
  /// the link brings the message over another path; then it is here on return.
  void demand(int microbatch);
  /// Waits for all transfers under way, at the end of a run.
  void settle();
  /// Drops all transfers under way. Streams that wait for one go on.
  void cancel() noexcept;

  /// The transfer that a pass received or sent; null where there was none.
  const TransferRecord* received(Pass pass, int microbatch) const {
    return record_of(pass, of(microbatch).input, of(microbatch).d_output);
  }
  const TransferRecord* sent(Pass pass, int microbatch) const {
    return record_of(pass, of(microbatch).output, of(microbatch).d_input);
  }

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
    const kernels::Event* last_use = nullptr;  // on an asynchronous device
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
  void start(Flight& flight, TransferKind kind, int microbatch);
  /// Of a pass's transfer, which is `forward` or `backward`.
  static const TransferRecord* record_of(Pass pass, const Flight& forward, const Flight& backward);
  Microbatch& of(int microbatch) { return microbatches_[static_cast<std::size_t>(microbatch)]; }
  const Microbatch& of(int microbatch) const { return microbatches_[static_cast<std::size_t>(microbatch)]; }

  model::PipelineStage& stage_;
  PipelineNeighbours neighbours_;
  const Order order_;
  const std::size_t slot_count_;
  const double deadline_s_;
  kernels::Device& device_;
  /// A stream for receives, which need not wait for the stage's. Null unless the device is
  /// asynchronous and the row has messages.
  std::unique_ptr<kernels::Stream> idle_;
  std::size_t next_input_ = 0, next_gradient_ = 0;  // in order_
  std::vector<Microbatch> microbatches_;
  std::vector<Slot> slots_;
  std::vector<Flight*> open_;  // not known to be complete
};

}  // namespace tenax::parallel
