// Collectives that are one exchange of everybody with everybody.
#pragma once

#include <vector>

#include "comm/collectives/link_collective.hpp"
#include "comm/collectives/ordered_sum.hpp"

namespace tenax::comm {

class SmallAllReduce final : public LinkCollective {
 public:
  SmallAllReduce(LinkGroup& group, kernels::Stream& stream, const kernels::Tensor& tensor, ReduceOp op,
                 Tag tag)
      : LinkCollective(group, stream, tensor, "all_reduce", tag),
        op_(op),
        scratch_(group.staging.borrow(ordered_sum_scratch_bytes(tensor.dtype, tensor.size()))),
        contributions_(static_cast<std::size_t>(group.size()), elements(0, tensor.size())) {
    const std::size_t bytes = (tensor.bytes() + 63) / 64 * 64;
    staging_ = group.staging.borrow(bytes * static_cast<std::size_t>(group.size()));
    for (int source = 0; source < group.size(); ++source) {
      if (source == group.rank()) continue;
      const auto at = static_cast<std::size_t>(source);
      contributions_[at] = staging_->tensor(tensor.dtype, {tensor.size()}, bytes * at);
      receives_.push_back(receive(source, contributions_[at]));
    }
    for (int step = 1; step < group.size(); ++step) send(peer_at(step), tensor);
  }

  bool done() override {
    if (reduced_) return true;
    // The own contribution is overwritten by the sum: the sends must have read it.
    if (!all_done(receives_) || !sends_done()) return false;
    ordered_reduce(group_.device.kernels(), stream_, contributions_, group_.rank(), op_, *scratch_);
    return reduced_ = true;
  }

 private:
  const std::vector<Message>& awaited() const override { return receives_; }

  ReduceOp op_;
  StagingPool::Loan staging_, scratch_;
  std::vector<kernels::Tensor> contributions_;
  std::vector<Message> receives_;
  bool reduced_ = false;
};

class LinkAllGather final : public LinkCollective {
 public:
  LinkAllGather(LinkGroup& group, kernels::Stream& stream, const kernels::Tensor& tensor, const char* what,
                Tag tag)
      : LinkCollective(group, stream, tensor, what, tag) {
    for (int step = 1; step < group.size(); ++step) {
      const int source = group.size() - step;  // as a step backwards from this rank
      if (piece(peer_at(source)).size() > 0)
        receives_.push_back(receive(peer_at(source), piece(peer_at(source))));
    }
    for (int step = 1; step < group.size(); ++step)
      if (piece(group.rank()).size() > 0) send(peer_at(step), piece(group.rank()));
  }
  bool done() override { return all_done(receives_) && sends_done(); }

 private:
  const std::vector<Message>& awaited() const override { return receives_; }
  std::vector<Message> receives_;
};

}  // namespace tenax::comm
