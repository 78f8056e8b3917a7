// NcclTransfer: an operation of an NcclGroup under way.
#pragma once

#include "comm/nccl/nccl_group.hpp"
#include "comm/transfer.hpp"

namespace tenax::comm {

class NcclTransfer final : public Transfer {
 public:
  /// `only_reads`: its tensor.
  NcclTransfer(NcclGroup& group, NcclOperationPtr operation, bool only_reads = false)
      : group_(group), operation_(std::move(operation)), only_reads_(only_reads) {}
  /// Nothing may touch its tensor afterwards, so what nobody waited for is ended.
  ~NcclTransfer() override {
    if (!is_awaited_) group_.abort(*operation_, "given up before it was done");
  }

  bool done() override {
    const bool done = group_.done(*operation_);
    is_awaited_ = is_awaited_ || done;
    return done;
  }
  void wait(kernels::Deadline deadline) override {
    group_.wait(*operation_, deadline);
    is_awaited_ = true;
  }
  void order_before(kernels::Stream& stream, kernels::Deadline) override {
    if (!done()) stream.wait(*operation_->finished);
    is_awaited_ = true;
  }
  bool orders_without_blocking() const override { return true; }
  void cancel(kernels::Deadline deadline) override {
    group_.abort(*operation_, "given up by its rank");
    is_awaited_ = true;
    if (!only_reads_) operation_->finished->wait(deadline);
  }
  TransferTiming timing() const override { return {{}, operation_->finished->time_s()}; }

 private:
  NcclGroup& group_;
  NcclOperationPtr operation_;
  const bool only_reads_;
  bool is_awaited_ = false;
};

}  // namespace tenax::comm
