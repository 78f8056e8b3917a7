// StateSums: checksums of all that a rank holds of a model.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/device.hpp"
#include "parallel/state/training_state.hpp"

namespace tenax::resilience {

/// One thread, that of the stream.
class StateSums {
 public:
  /// All must outlive it. Where the host cannot read the device's memory, takes pinned memory for the
  /// largest tensor: throws Error(rank) where there is none.
  StateSums(const parallel::TrainingState& state, kernels::Device& device, kernels::Stream& stream);

  std::vector<std::string> tensors() const;                         ///< names of the rows
  const std::vector<std::string>& parts() const { return parts_; }  ///< as ReplayRank has them
  /// [tensors, parts], once the stream's work is done; 0 for what the rank owns nothing of. Waits.
  std::vector<std::uint64_t> take(kernels::Deadline deadline);

 private:
  std::span<const std::byte> read(const kernels::Tensor& tensor, kernels::Deadline deadline);
  std::uint64_t sum_of(const kernels::Tensor& tensor, std::int64_t first_element, kernels::Deadline deadline);
  std::vector<kernels::Tensor> tensors_of(const parallel::OwnedState& owned) const;
  std::size_t most_bytes() const;

  const parallel::TrainingState& state_;
  kernels::Kernels& kernels_;
  kernels::Stream& stream_;
  std::vector<std::string> parts_;
  bool has_copies_;
  std::unique_ptr<kernels::Buffer> host_;  // null where the device's memory is the host's
};

}  // namespace tenax::resilience
