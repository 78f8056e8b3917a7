#include "resilience/replay/state_sums.hpp"

#include <algorithm>

#include "io/checksum.hpp"

namespace tenax::resilience {

using kernels::Tensor;

StateSums::StateSums(const parallel::TrainingState& state, kernels::Device& device, kernels::Stream& stream)
    : state_(state),
      kernels_(device.kernels()),
      stream_(stream),
      parts_{"weight"},
      has_copies_(state.shards().data_size() > 1 ||
                  state.weights().dtype != kernels::accumulation_of(state.weights().dtype)) {
  for (const std::string& moment : state.optimizer().moments) parts_.push_back(moment);
  parts_.emplace_back("gradient");
  if (has_copies_) parts_.emplace_back("copy");
  if (!device.is_host_memory()) host_ = device.allocate(most_bytes(), kernels::MemoryKind::pinned_host);
}

std::vector<std::string> StateSums::tensors() const {
  std::vector<std::string> names;
  for (const model::ParameterRow& row : state_.table().rows()) names.push_back(row.name);
  return names;
}

std::size_t StateSums::most_bytes() const {
  std::int64_t most = 1;
  for (const model::ParameterRow& row : state_.table().rows()) most = std::max(most, row.size());
  return static_cast<std::size_t>(most) * bytes_of(state_.gradients().dtype);
}

// In the order of parts_, less the copy.
std::vector<Tensor> StateSums::tensors_of(const parallel::OwnedState& owned) const {
  std::vector<Tensor> tensors = {owned.master};
  tensors.insert(tensors.end(), owned.moments.begin(), owned.moments.end());
  tensors.push_back(owned.gradient);
  return tensors;
}

std::span<const std::byte> StateSums::read(const Tensor& tensor, kernels::Deadline deadline) {
  const void* data = tensor.data;
  if (host_) {
    kernels_.copy(stream_, tensor, host_->tensor(tensor.dtype, tensor.shape));
    stream_.synchronize(deadline);
    data = host_->data();
  }
  return {static_cast<const std::byte*>(data), tensor.bytes()};
}

std::uint64_t StateSums::sum_of(const Tensor& tensor, std::int64_t first_element,
                                kernels::Deadline deadline) {
  const auto first_byte = first_element * static_cast<std::int64_t>(bytes_of(tensor.dtype));
  return io::checksum_of_bytes(read(tensor, deadline), first_byte);
}

std::vector<std::uint64_t> StateSums::take(kernels::Deadline deadline) {
  stream_.synchronize(deadline);
  const auto& rows = state_.table().rows();
  std::vector<std::uint64_t> sums(rows.size() * parts_.size());
  for (const parallel::OwnedState& owned : state_.owned()) {
    std::uint64_t* sum = &sums[static_cast<std::size_t>(owned.row) * parts_.size()];
    for (const Tensor& tensor : tensors_of(owned)) *sum++ += sum_of(tensor, owned.row_begin, deadline);
  }
  for (std::size_t row = 0; row < rows.size() && has_copies_; ++row) {
    const Tensor weights = state_.table().view(state_.weights(), static_cast<int>(row));
    sums[(row + 1) * parts_.size() - 1] = sum_of(weights, 0, deadline);
  }
  return sums;
}

}  // namespace tenax::resilience
