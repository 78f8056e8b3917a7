// GradientExchange: sums what this rank owns of a step's gradients over all replicas, epoch by
// epoch (ft-hsdp, 4.2).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/ftar/ftar_group.hpp"
#include "kernels/device.hpp"
#include "parallel/state/training_state.hpp"

namespace tenax::resilience {

/// Thread rule: the thread that trains.
class GradientExchange {
 public:
  /// Both must outlive it, and options.frozen_epoch too. The pieces lie in options.memory, if there
  /// is any; it is registered with the transport once.
  GradientExchange(comm::Transport& transport, kernels::Device& device, comm::FtarOptions options);

  /// The ranks of this number in the replicas of a new epoch. What was under way is given up.
  void set_ring(comm::FtarRing ring);
  /// The pieces and totals to come are of `step`.
  void begin_step(std::int64_t step);
  /// Begins to sum a piece, which is final once `stream` has run what it was given so far. Once a
  /// bucket in an epoch and step.
  void start(kernels::Stream& stream, int bucket, const parallel::GradientPiece& piece);
  /// Whether all pieces have come about, or failed, before the deadline.
  bool are_over(kernels::Deadline deadline);
  /// Waits for the pieces. False where they did not come about, or not before the deadline:
  /// failure() says why. What broke this rank, or all, is thrown.
  bool finish(kernels::Deadline deadline);
  /// Begins to gather a few numbers of each replica, beside what is under way; each gives as many.
  /// Once in an epoch, step and round.
  void start_gather(std::span<const double> own, int round = 0);
  /// Whether they have come from all, or will not, before the deadline. True where none are gathered.
  bool is_gathered(kernels::Deadline deadline);
  /// The numbers of all replicas, those of one after the other's, in the order of the ring. Nothing
  /// where finish() would say false.
  std::optional<std::vector<double>> finish_gather(kernels::Deadline deadline);
  /// What the exchange took since it was asked last, of one bucket, on the way to the rank after; 0:
  /// not known.
  double take_transfer_s() { return group_->take_transfers().mean_s(); }
  /// Of the last that failed.
  const std::optional<comm::FtarFailure>& failure() const { return failure_; }

 private:
  bool wait(comm::Transfer& transfer, kernels::Deadline deadline);
  void give_up();
  /// Of all replicas.
  kernels::Tensor totals(std::size_t of_each);
  void note(const comm::FtarFailure& failure);

  comm::Transport& transport_;
  kernels::Device& device_;
  std::unique_ptr<kernels::Device> cpu_;  // beside a device without data: totals have some
  comm::FtarOptions options_;
  std::vector<std::unique_ptr<comm::MemoryRegistration>> registrations_;  // of options_.memory
  std::int64_t step_ = 0;
  std::size_t gathered_ = 0;  // numbers of each replica
  std::unique_ptr<comm::FtarGroup> group_;
  std::optional<comm::FtarFailure> failure_;
  std::unique_ptr<kernels::Buffer> totals_;  // of all replicas
  // Under way; after group_ and totals_, as they end with the one and write the other.
  comm::TransferPtr gathering_;
  std::vector<comm::TransferPtr> pieces_;
};

}  // namespace tenax::resilience
