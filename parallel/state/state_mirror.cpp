#include "parallel/state/state_mirror.hpp"

#include <iterator>

namespace tenax::parallel {

using kernels::Tensor;

namespace {

constexpr Tensor OwnedState::*kParts[] = {&OwnedState::master, &OwnedState::exp_avg, &OwnedState::exp_avg_sq};

}  // namespace

StateMirror::StateMirror(TrainingState& state, kernels::Device& device, kernels::Stream& stream)
    : state_(state), kernels_(device.kernels()), stream_(stream), owned_(state.owned()) {
  if (device.is_host_memory()) return;
  std::size_t bytes = 0;
  for (const OwnedState& owned : owned_)
    for (const auto part : kParts) bytes += (owned.*part).bytes();
  memory_ = device.allocate(bytes, kernels::MemoryKind::pinned_host);
  std::size_t used = 0;
  for (OwnedState& owned : owned_)
    for (const auto part : kParts) {
      Tensor& tensor = owned.*part;
      tensor = memory_->tensor(tensor.dtype, tensor.shape, used);
      used += tensor.bytes();
    }
}

std::size_t StateMirror::plan_bytes(const ShardMap& shards, kernels::DType compute_dtype) {
  return std::size(kParts) * static_cast<std::size_t>(shards.shard_size()) *
         bytes_of(kernels::accumulation_of(compute_dtype));
}

template <class Copy>
void StateMirror::for_each_pair(Copy copy) {
  if (!is_copy()) return;
  for (std::size_t i = 0; i < owned_.size(); ++i)
    for (const auto part : kParts) copy(state_.owned()[i].*part, owned_[i].*part);
}

void StateMirror::fetch(kernels::Deadline deadline) {
  for_each_pair([&](const Tensor& device, const Tensor& host) { kernels_.copy(stream_, device, host); });
  stream_.synchronize(deadline);
}

void StateMirror::store(kernels::Deadline deadline) {
  for_each_pair([&](const Tensor& device, const Tensor& host) { kernels_.copy(stream_, host, device); });
  stream_.synchronize(deadline);
}

}  // namespace tenax::parallel
