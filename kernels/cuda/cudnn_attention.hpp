// Attention in bf16 by cuDNN's fused kernels.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "kernels/cuda/workspace.hpp"
#include "kernels/kernels.hpp"

namespace tenax::kernels::cuda {

/// cuDNN on one device, and the plans made so far: one per shape, at its first use (up to a second each;
/// never while a stream is captured). Thread rule: any thread; calls take turns for the microseconds that
/// launching takes.
///
/// `deterministic`: the backward pass gives the same bits every time, at the price of writing the scores'
/// gradients to scratch memory: 2 bytes · heads · T² a sequence. That is bounded: a microbatch is cut into
/// launches of fewer sequences. Otherwise the gradient of q is summed in fp32 in the order in which blocks
/// happen to finish.
class CudnnAttention {
 public:
  /// Loads cuDNN. Throws Error(rank) where it is missing, or older than 9.6.
  explicit CudnnAttention(bool deterministic);
  ~CudnnAttention();
  CudnnAttention(const CudnnAttention&) = delete;
  CudnnAttention& operator=(const CudnnAttention&) = delete;

  /// Return false, with nothing enqueued, for what cuDNN does not take: other types, head sizes that are no
  /// multiple of 8, T = 1, tensors not aligned to 16 bytes. Throw Error(rank) when cuDNN fails.
  bool forward(cudaStream_t stream, const AttentionForwardArgs& args, Workspace& workspace);
  bool backward(cudaStream_t stream, const AttentionBackwardArgs& args, Workspace& workspace);

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace tenax::kernels::cuda
