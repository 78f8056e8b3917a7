// A world of which one group has failed, as one of NCCL's that nobody has called since; and a model to train in it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/world.hpp"
#include "kernels/error.hpp"
#include "parallel/replica/layout.hpp"

namespace tenax::parallel {

inline constexpr char kLost[] = "all_reduce in the tensor group: rank 0 heard from NCCL: remote error";

/// Of a group whose operations the device waits for: one has failed, and nobody has called it since.
class FailedCommunicator final : public comm::Communicator {
 public:
  explicit FailedCommunicator(std::unique_ptr<comm::Communicator> inner, const bool& has_failed)
      : inner_(std::move(inner)), has_failed_(has_failed) {}
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  const std::string& name() const override { return inner_->name(); }
  void all_reduce(kernels::Stream& stream, const kernels::Tensor& tensor, comm::ReduceOp op) override {
    inner_->all_reduce(stream, tensor, op);
  }
  comm::TransferPtr start_reduce_scatter(kernels::Stream& stream, const kernels::Tensor& tensor) override {
    return inner_->start_reduce_scatter(stream, tensor);
  }
  comm::TransferPtr start_all_gather(kernels::Stream& stream, const kernels::Tensor& tensor) override {
    return inner_->start_all_gather(stream, tensor);
  }
  void check() override {
    if (has_failed_) throw kernels::Error(kernels::Scope::link, kLost);
  }

 private:
  const std::unique_ptr<comm::Communicator> inner_;
  const bool& has_failed_;
};

class FailingWorld final : public comm::ForwardingWorld {
 public:
  FailingWorld(comm::World& inner, const std::string& group, const bool& has_failed)
      : ForwardingWorld(inner, {}), group_(group), has_failed_(has_failed) {}
  std::unique_ptr<comm::Communicator> split_communicator(const std::string& name, int color, int key,
                                                         kernels::Device& device) override {
    auto made = inner_.split_communicator(name, color, key, device);
    if (name != group_) return made;
    return std::make_unique<FailedCommunicator>(std::move(made), has_failed_);
  }

 private:
  const std::string group_;
  const bool& has_failed_;
};

inline constexpr std::size_t kTinyWindow = 9;

/// One rank, one microbatch of one window.
inline Layout tiny_layout(bool has_peers) {
  constexpr std::size_t kPlenty = std::size_t{1} << 30;
  LayoutRequest request;
  request.model = {.num_layers = 1,
                   .hidden_size = 32,
                   .num_attention_heads = 2,
                   .ffn_hidden_size = 64,
                   .seq_length = kTinyWindow - 1,
                   .vocab_size = 16,
                   .compute_dtype = kernels::DType::f32};
  request.microbatch = {1, kTinyWindow - 1};
  request.policy = &policy_of_name("1f1b");
  request.has_peers = has_peers;
  return plan_layout(request, 1e11, kPlenty);
}

}  // namespace tenax::parallel
