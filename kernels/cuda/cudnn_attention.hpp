// Attention in bf16 by cuDNN's fused kernels.
#pragma once

#include <cuda_runtime_api.h>

#include <initializer_list>
#include <memory>
#include <optional>

#include "kernels/cuda/attention_shape.hpp"
#include "kernels/cuda/choices.hpp"
#include "kernels/cuda/workspace.hpp"
#include "kernels/kernels.hpp"

namespace tenax::kernels::cuda {

/// cuDNN on one device, and the plans made so far: one per shape, at its first use (up to a second each;
/// never while a stream is captured): the fastest of a few, or what an earlier run took
/// (cudnn_attention_plans.hpp). Thread rule: any thread; calls take turns for the microseconds that launching
/// takes.
///
/// Where choices are deterministic the backward pass gives the same bits every time: by an engine that sums the
/// gradient of q in one order, where cuDNN has one that says so; else by writing the scores' gradients to
/// scratch memory, 2 bytes · heads · T² a sequence. That is bounded: a microbatch is cut into launches of fewer
/// sequences. Otherwise the gradient of q is summed in fp32 in the order in which blocks happen to finish.
class CudnnAttention {
 public:
  /// Loads cuDNN. Throws Error(rank) where it is missing, or older than 9.6. `choices` must outlive it.
  explicit CudnnAttention(Choices& choices);
  ~CudnnAttention();
  CudnnAttention(const CudnnAttention&) = delete;
  CudnnAttention& operator=(const CudnnAttention&) = delete;

  /// Return false, with nothing enqueued, for what cuDNN does not take: other types, head sizes that are no
  /// multiple of 8, T = 1, tensors not aligned to 16 bytes; and where it has no plan. What is slow for that is among
  /// the notes of the choices. Throw Error(rank) when cuDNN fails.
  bool forward(cudaStream_t stream, const AttentionForwardArgs& args, Workspace& workspace);
  bool backward(cudaStream_t stream, const AttentionBackwardArgs& args, Workspace& workspace);

  /// What the backward pass of such a microbatch takes of its stream's workspace, by cuDNN or by own kernels; absent
  /// where it has not been asked for yet. `in_place`: d_qkv is the memory of qkv.
  std::optional<std::size_t> known_backward_bytes(const AttentionShape& shape, bool in_place) const;

 private:
  bool takes(DType dtype, const AttentionShape& shape, std::initializer_list<const void*> pointers);

  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace tenax::kernels::cuda
