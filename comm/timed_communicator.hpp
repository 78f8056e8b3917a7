// TimedCommunicator: another communicator, whose collectives are timed.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "comm/collective_observer.hpp"
#include "comm/communicator.hpp"

namespace tenax::comm {

/// Never waits for the device: what ends on it is told of once it is known, with the device's own
/// times.
class TimedCommunicator final : public Communicator {
 public:
  /// `device`: whose streams the collectives are ordered with; must outlive this.
  TimedCommunicator(std::unique_ptr<Communicator> inner, kernels::Device& device);
  ~TimedCommunicator() override;

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  const std::string& name() const override { return inner_->name(); }
  void all_reduce(kernels::Stream& stream, const kernels::Tensor& tensor, ReduceOp op) override;
  TransferPtr start_reduce_scatter(kernels::Stream& stream, const kernels::Tensor& tensor) override;
  TransferPtr start_all_gather(kernels::Stream& stream, const kernels::Tensor& tensor) override;
  void check() override { inner_->check(); }
  std::vector<int> ring_order() const override { return inner_->ring_order(); }
  std::unique_ptr<RingChange> prepare_ring(const std::vector<int>& order) override;
  LinkTopology topology() const override { return inner_->topology(); }
  Link* link(int peer) override { return inner_->link(peer); }

  /// Tells `observer`, which may be null, of the collectives that have ended and that nobody was
  /// told of; others are told of by a later call. A tensor without elements is no collective. Of
  /// many thousands that nobody asked for, the oldest are forgotten. Throws what went wrong with
  /// one.
  void report(CollectiveObserver* observer);

 private:
  class TimedTransfer;
  struct Timing;
  using TimingPtr = std::shared_ptr<Timing>;

  TimingPtr start(CollectiveKind kind, kernels::Stream& stream, const kernels::Tensor& tensor);
  std::unique_ptr<kernels::Event> take_event();

  std::unique_ptr<Communicator> inner_;
  kernels::Device& device_;
  std::deque<TimingPtr> timings_;                        // in the order of the calls
  std::vector<std::unique_ptr<kernels::Event>> unused_;  // events to be used again
};

}  // namespace tenax::comm
