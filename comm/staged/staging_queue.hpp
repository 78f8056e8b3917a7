// StagingQueue: collectives on tensors that the host cannot read, carried out on copies in pinned
// host memory.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "comm/collective_observer.hpp"
#include "comm/communicator.hpp"
#include "comm/failure.hpp"
#include "comm/host_staging.hpp"
#include "comm/poll.hpp"

namespace tenax::comm {

/// One collective of the queue. Its host buffer holds the whole tensor; what a kind needs of it is
/// copied.
struct StagedCollective {
  enum class Step { queued, copying_out, moving, copying_in, done };
  CollectiveKind kind;
  ReduceOp op;
  kernels::Tensor tensor;                 ///< flat
  std::unique_ptr<kernels::Event> ready;  ///< passed when the tensor's contents are there
  Step step = Step::queued;
  HostBuffer host_buffer;  ///< from copying_out to copying_in
  TransferPtr moving;
  Stopwatch stopwatch;
};

/// Takes each collective through its steps in the order of their calls: the ranks start them in
/// host memory in the same order, whenever their copies end. A few are in host memory at a time;
/// the others wait, which bounds the pinned memory.
///
/// Thread rule: Communicator's. Whatever fails breaks the queue: its tensors may be gone.
class StagingQueue {
 public:
  using Step = StagedCollective::Step;
  using CollectivePtr = std::shared_ptr<StagedCollective>;

  /// `host`: the same group, for tensors in host memory. Both must outlive the queue.
  StagingQueue(kernels::Device& device, Communicator& host);
  ~StagingQueue();
  StagingQueue(const StagingQueue&) = delete;
  StagingQueue& operator=(const StagingQueue&) = delete;

  /// Starts once `stream` has passed what is enqueued on it now.
  CollectivePtr add(CollectiveKind kind, kernels::Stream& stream, const kernels::Tensor& tensor, ReduceOp op);
  /// Moves all collectives as far as they go without waiting (an all_reduce, whose caller waits for
  /// it, excepted).
  void progress();
  /// Until `collective` is at `step`. Throws Error(link) on expiry.
  void wait(StagedCollective& collective, Step step, kernels::Deadline deadline);
  /// Nobody waits for it any more.
  void cancel(StagedCollective& collective) noexcept;

 private:
  void advance(StagedCollective& collective, bool may_start);
  void copy_out(StagedCollective& collective);
  void start(StagedCollective& collective);
  void copy_in(StagedCollective& collective);
  [[noreturn]] void break_queue(StagedCollective& collective);
  std::string describe(const StagedCollective& collective) const;

  kernels::Device& device_;
  Communicator& host_;
  HostStaging staging_;
  std::unique_ptr<kernels::Stream> out_, in_;  // copies in each direction run on them
  HostStream host_stream_;  // of what is summed in host memory; started collectives refer to it
  std::deque<CollectivePtr> queue_;
  int in_host_memory_ = 0;
  std::optional<Failure> failure_;
};

}  // namespace tenax::comm
