// What operations on the GPU take of their stream's workspace: pure arithmetic, compiled on every machine, so
// that a plan made without a GPU states what one with a GPU takes.
#pragma once

#include <cstddef>

#include "kernels/cuda/attention_shape.hpp"
#include "kernels/device.hpp"

namespace tenax::kernels::cuda {

/// The least size of a workspace. It has room for a matrix product (32 MiB) and for the partial
/// sums of layer norms and biases: at most a few hundred rows of numbers for each multiprocessor's
/// blocks, whatever the microbatch.
inline constexpr std::size_t kLeastWorkspace_bytes = std::size_t{64} << 20;

/// Whether cuDNN is asked, as far as sizes decide; else own kernels compute it.
bool cudnn_takes(DType dtype, const AttentionShape& shape);

/// Into how big launches the backward pass is cut: the scores' gradients of one are in scratch
/// memory at a time.
std::int64_t sequences_of_launch(const AttentionShape& shape, bool deterministic);

/// Consecutive parts of a workspace, each aligned to 256 bytes.
class WorkspaceParts {
 public:
  /// Where a part of `bytes` begins.
  std::size_t add(std::size_t bytes);
  std::size_t bytes() const { return end_; }

 private:
  std::size_t end_ = 0;
};

/// What a launch of the backward pass by cuDNN needs at offsets of the workspace. The sums are only there
/// where bits may differ from run to run.
struct CudnnBackwardScratch {
  /// `cudnn_bytes`: what the plan asks for. `in_place`: d_qkv is the memory of qkv.
  CudnnBackwardScratch(const AttentionShape& launch, bool deterministic, bool in_place,
                       std::size_t cudnn_bytes);
  std::size_t cudnn, output_dots, d_q_sums, d_qkv, bytes;
};

/// What cuDNN's plan asks for, by what cuDNN 9.19 answers for an H200 that is described to it
/// (CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR; twelve shapes): 256 bytes, and where each gradient of q is to be
/// summed in one order 2 for each score of tiles of 64 queries and 128 keys. Another version may want more:
/// then the workspace grows.
std::size_t cudnn_backward_bytes(const AttentionShape& launch, bool deterministic);

/// The same for own kernels.
struct OwnBackwardScratch {
  OwnBackwardScratch(const AttentionShape& shape, DType dtype, bool in_place);
  std::size_t output_dots, d_q, bytes;
};

AttentionShape attention_of(const StepShape& shape);
/// What a stream's operations on such a microbatch need, where attention's backward pass takes `attention_bytes`.
std::size_t step_scratch_bytes(const StepShape& shape, std::size_t attention_bytes);

/// What the gradient of an embedding needs: token lists, sorted and not, a row of sums for both ends of each
/// tile, and what sorting takes.
struct EmbeddingBackwardScratch {
  EmbeddingBackwardScratch(std::int64_t tokens, std::int64_t columns, DType sums, std::size_t bytes_of_sort);
  std::size_t keys, rows, sorted_keys, sorted_rows, partial, sort, sort_bytes, bytes;
};

}  // namespace tenax::kernels::cuda
