// TrialMemory: memory that trials of algorithms read and write, from the device's pool.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace tenax::kernels::cuda {

/// Taken and given back in the order of a stream: neither waits for other streams. Thread rule: its stream's.
class TrialMemory {
 public:
  /// Has none where the device has too little, or has no pools (some virtual GPUs): then nothing is to be tried. Throws
  /// Error(rank) when the device breaks.
  TrialMemory(cudaStream_t stream, std::size_t bytes);
  ~TrialMemory();
  TrialMemory(const TrialMemory&) = delete;
  TrialMemory& operator=(const TrialMemory&) = delete;
  /// Null where there is none.
  void* data() const { return data_; }

 private:
  cudaStream_t stream_;
  void* data_ = nullptr;
};

/// Gives back to the current device what trials have left with its pool, where it has one.
void trim_trial_memory();

}  // namespace tenax::kernels::cuda
