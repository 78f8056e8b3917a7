// TimedWorld: another world, with a stopwatch around collectives on tensors: starting one, and waiting for it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "comm/world.hpp"
#include "tests/bench/stopwatch.hpp"

namespace tenax::bench {

class TimedTransfer : public comm::Transfer {
 public:
  TimedTransfer(comm::TransferPtr inner, std::string name, Stopwatch& stopwatch)
      : inner_(std::move(inner)), name_(std::move(name)), stopwatch_(stopwatch) {}
  bool done() override {
    bool done = false;
    stopwatch_.time(name_, [&] { done = inner_->done(); });
    return done;
  }
  void wait(kernels::Deadline deadline) override {
    stopwatch_.time(name_, [&] { inner_->wait(deadline); });
  }
  void order_before(kernels::Stream& stream, kernels::Deadline deadline) override {
    stopwatch_.time(name_, [&] { inner_->order_before(stream, deadline); });
  }

 private:
  comm::TransferPtr inner_;
  std::string name_;
  Stopwatch& stopwatch_;
};

class TimedCommunicator : public comm::Communicator {
 public:
  TimedCommunicator(std::unique_ptr<comm::Communicator> inner, Stopwatch& stopwatch)
      : inner_(std::move(inner)), stopwatch_(stopwatch) {}
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  const std::string& name() const override { return inner_->name(); }
  void all_reduce(kernels::Stream& stream, const kernels::Tensor& tensor, comm::ReduceOp op) override {
    stopwatch_.time(label("all_reduce"), [&] { inner_->all_reduce(stream, tensor, op); });
  }
  comm::TransferPtr start_reduce_scatter(kernels::Stream& stream, const kernels::Tensor& tensor) override {
    return timed("reduce_scatter", [&] { return inner_->start_reduce_scatter(stream, tensor); });
  }
  comm::TransferPtr start_all_gather(kernels::Stream& stream, const kernels::Tensor& tensor) override {
    return timed("all_gather", [&] { return inner_->start_all_gather(stream, tensor); });
  }

 private:
  std::string label(const char* operation) const { return inner_->name() + " " + operation; }
  template <class Start>
  comm::TransferPtr timed(const char* operation, Start start) {
    comm::TransferPtr transfer;
    stopwatch_.time(label(operation), [&] { transfer = start(); });
    return std::make_unique<TimedTransfer>(std::move(transfer), label(operation), stopwatch_);
  }

  std::unique_ptr<comm::Communicator> inner_;
  Stopwatch& stopwatch_;
};

class TimedWorld : public comm::ForwardingWorld {
 public:
  /// Communicators compute their sums on `device`, which is not timed, so that nothing counts twice. All must
  /// outlive this.
  TimedWorld(comm::World& inner, kernels::Device& device, Stopwatch& stopwatch)
      : ForwardingWorld(inner, {}), device_(device), stopwatch_(stopwatch) {}
  std::unique_ptr<comm::Communicator> split_communicator(const std::string& name, int color, int key,
                                                         kernels::Device&) override {
    return std::make_unique<TimedCommunicator>(inner_.split_communicator(name, color, key, device_),
                                               stopwatch_);
  }

 private:
  kernels::Device& device_;
  Stopwatch& stopwatch_;
};

}  // namespace tenax::bench
