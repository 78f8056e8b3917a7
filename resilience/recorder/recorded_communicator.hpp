// RecordedCommunicator: another communicator, of whose collectives the recorder hears. NCCL's and those over shared memory
// stay what they are.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "resilience/recorder/recorder.hpp"

namespace tenax::resilience {

/// On an asynchronous device an all_reduce has ended for the recorder when it was launched.
class RecordedCommunicator final : public comm::Communicator {
 public:
  /// `name`: equal on all ranks of the group, and of no other one. `recorder` must outlive it.
  RecordedCommunicator(std::unique_ptr<comm::Communicator> inner, const std::string& name,
                       Recorder& recorder);
  ~RecordedCommunicator() override;
  RecordedCommunicator(const RecordedCommunicator&) = delete;
  RecordedCommunicator& operator=(const RecordedCommunicator&) = delete;

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  const std::string& name() const override { return inner_->name(); }
  void all_reduce(kernels::Stream& stream, const kernels::Tensor& tensor, comm::ReduceOp op) override;
  comm::TransferPtr start_reduce_scatter(kernels::Stream& stream, const kernels::Tensor& tensor) override;
  comm::TransferPtr start_all_gather(kernels::Stream& stream, const kernels::Tensor& tensor) override;
  void check() override { inner_->check(); }
  std::vector<int> ring_order() const override { return inner_->ring_order(); }
  std::unique_ptr<comm::RingChange> prepare_ring(const std::vector<int>& order) override {
    return inner_->prepare_ring(order);
  }
  comm::LinkTopology topology() const override { return inner_->topology(); }
  comm::Link* link(int peer) override { return inner_->link(peer); }

 private:
  const std::unique_ptr<comm::Communicator> inner_;
  Recorder& recorder_;
  const int channel_;
};

/// Another control group, likewise.
class RecordedControlGroup final : public comm::ControlGroup {
 public:
  RecordedControlGroup(std::unique_ptr<comm::ControlGroup> inner, const std::string& name,
                       Recorder& recorder);
  ~RecordedControlGroup() override;
  RecordedControlGroup(const RecordedControlGroup&) = delete;
  RecordedControlGroup& operator=(const RecordedControlGroup&) = delete;

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  std::string broadcast(const std::string& text, int root) override;
  std::vector<std::string> all_gather(const std::string& text) override;
  void all_reduce_sum(std::span<double> values) override;
  void all_reduce_sum(std::span<double> values, const std::vector<int>& order) override;
  void all_reduce_max(std::span<double> values) override;
  void hurry(double seconds) noexcept override { inner_->hurry(seconds); }

 private:
  const std::unique_ptr<comm::ControlGroup> inner_;
  Recorder& recorder_;
  const int channel_;
};

}  // namespace tenax::resilience
