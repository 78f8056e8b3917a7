#include "parallel/state/state_mirror.hpp"

namespace tenax::parallel {

using kernels::Tensor;

namespace {

/// What checkpoints save of a stretch.
template <class Owned>
auto saved_of(Owned& owned) {
  std::vector<decltype(&owned.master)> tensors{&owned.master};
  for (auto& moment : owned.moments) tensors.push_back(&moment);
  return tensors;
}

}  // namespace

StateMirror::StateMirror(TrainingState& state, kernels::Device& device, kernels::Stream& stream,
                         const StateMirror* before)
    : state_(state), kernels_(device.kernels()), stream_(stream), owned_(state.owned()) {
  if (device.is_host_memory()) return;
  std::size_t bytes = 0;
  for (const OwnedState& owned : owned_)
    for (const Tensor* tensor : saved_of(owned)) bytes += tensor->bytes();
  memory_ = before ? before->memory_ : device.allocate(bytes, kernels::MemoryKind::pinned_host);
  std::size_t used = 0;
  for (OwnedState& owned : owned_)
    for (Tensor* tensor : saved_of(owned)) {
      *tensor = memory_->tensor(tensor->dtype, tensor->shape, used);
      used += tensor->bytes();
    }
}

std::size_t StateMirror::plan_bytes(const ShardMap& shards, kernels::DType compute_dtype,
                                    const Optimizer& optimizer) {
  const std::size_t master_bytes = bytes_of(kernels::accumulation_of(compute_dtype));
  return static_cast<std::size_t>(shards.shard_size()) *
         (master_bytes + optimizer.bytes_per_weight(compute_dtype));
}

template <class Copy>
void StateMirror::for_each_pair(Copy copy) {
  if (!is_copy()) return;
  for (std::size_t i = 0; i < owned_.size(); ++i) {
    const OwnedState &device = state_.owned()[i], &host = owned_[i];
    copy(device.master, host.master);
    for (std::size_t m = 0; m < host.moments.size(); ++m) copy(device.moments[m], host.moments[m]);
  }
}

void StateMirror::fetch(kernels::Deadline deadline) {
  for_each_pair([&](const Tensor& device, const Tensor& host) { kernels_.copy(stream_, device, host); });
  stream_.synchronize(deadline);
}

void StateMirror::store(kernels::Deadline deadline) {
  for_each_pair([&](const Tensor& device, const Tensor& host) { kernels_.copy(stream_, host, device); });
  stream_.synchronize(deadline);
  state_.forget_ahead();
}

}  // namespace tenax::parallel
