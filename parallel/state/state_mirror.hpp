// StateMirror: a rank's training state where the host can read and write it, for initialisation and
// checkpoints.
#pragma once

#include <memory>
#include <vector>

#include "parallel/state/training_state.hpp"

namespace tenax::parallel {

/// The state itself on a device whose memory the host can touch. Elsewhere a copy of master weights
/// and moments in pinned memory, which fetch() and store() keep in step with the device.
class StateMirror {
 public:
  /// All must outlive the mirror. Reserves the host's memory: throws Error(rank). `before`: the mirror of
  /// the same state in an older grid, whose copy this one shares; may be null.
  StateMirror(TrainingState& state, kernels::Device& device, kernels::Stream& stream,
              const StateMirror* before = nullptr);

  /// What a copy takes of the host's memory, at most.
  static std::size_t plan_bytes(const ShardMap& shards, kernels::DType compute_dtype,
                                const Optimizer& optimizer);

  const model::ParameterTable& table() const { return state_.table(); }
  const Optimizer& optimizer() const { return state_.optimizer(); }
  /// The state's stretches, in its order. master and moments are in host memory, the other tensors
  /// on the device.
  const std::vector<OwnedState>& owned() const { return owned_; }
  /// True where fetch() and store() copy.
  bool is_copy() const { return memory_ != nullptr; }
  /// Device to host, host to device. Both wait for the stream.
  void fetch(kernels::Deadline deadline);
  void store(kernels::Deadline deadline);

 private:
  template <class Copy>
  void for_each_pair(Copy copy);

  TrainingState& state_;
  kernels::Kernels& kernels_;
  kernels::Stream& stream_;
  std::shared_ptr<kernels::Buffer> memory_;
  std::vector<OwnedState> owned_;
};

}  // namespace tenax::parallel
