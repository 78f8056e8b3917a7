// The operations on the GPU, each a function that enqueues its kernels. kernels.hpp says what each
// one computes. (Optimizers: weight_update.hpp; matrix products: matmul.hpp; cuDNN's attention:
// cudnn_attention.hpp.)
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/column_sums_body.hpp"
#include "kernels/cuda/workspace.hpp"
#include "kernels/kernels.hpp"
#include "kernels/tensor.hpp"

namespace tenax::kernels::cuda {

void gelu_forward(cudaStream_t stream, const GeluForwardArgs& args);
void gelu_backward(cudaStream_t stream, const GeluBackwardArgs& args);
void residual_add(cudaStream_t stream, const ResidualAddArgs& args);

void zero(cudaStream_t stream, Tensor destination);
/// Between device and pinned host memory in any direction.
void copy(cudaStream_t stream, Tensor source, Tensor destination);
void cast(cudaStream_t stream, Tensor source, Tensor destination);
void add(cudaStream_t stream, Tensor source, Tensor destination);
void maximum(cudaStream_t stream, Tensor source, Tensor destination);
void chunk_sum(cudaStream_t stream, const ChunkSumArgs& args);

void layernorm_forward(cudaStream_t stream, const LayerNormForwardArgs& args);
void residual_layernorm_forward(cudaStream_t stream, const ResidualLayerNormForwardArgs& args);
void layernorm_backward(cudaStream_t stream, const LayerNormBackwardArgs& args, Workspace& workspace);

/// Attention by own kernels, for what cuDNN does not take: fp32, fp64, and odd head sizes and lengths in
/// bf16. Plain fused multiply-adds in fp32 (fp64 for fp64), everything in shared memory: right to the last
/// bits, and a tenth of the speed of tensor cores. Deterministic. Both throw Error(rank) where a head is too
/// big for the shared memory of a block on this GPU: beyond 128 numbers of fp64, 256 of the others, or fewer
/// (attention_limits.hpp).
void own_attention_forward(cudaStream_t stream, const AttentionForwardArgs& args);
void own_attention_backward(cudaStream_t stream, const AttentionBackwardArgs& args, Workspace& workspace);

/// Attention of one new position over cached keys and values. Deterministic. Heads of up to 256 numbers.
void attention_decode(cudaStream_t stream, const AttentionDecodeArgs& args, Workspace& workspace);

/// Kernels::embedding_forward. Writes each row of out once; the rows of wte and wpe mostly come
/// from the cache.
void embedding_forward(cudaStream_t stream, const EmbeddingForwardArgs& args);

/// Kernels::embedding_backward, without atomics: rows are sorted by token (stable, so those of a token keep
/// their order), cut into tiles, and each tile sums its runs of equal tokens in that order. The sum of a
/// token that crosses tiles is put together from their partial sums, in the order of the tiles. Position
/// gradients are summed over sequences in order.
///
/// Reads d_x once for d_wte and once for d_wpe, and each row of d_wte that occurs once; the sort moves
/// 16 bytes a row for each 8 bits of a token's number. 64 × 1024 tokens of 768 bf16 columns: 0.2 GB for
/// d_x, at most 0.1 GB for d_wte. Workspace: 16 bytes a row, and 2 partial rows in the accumulation type
/// for every 32.
void embedding_backward(cudaStream_t stream, const EmbeddingBackwardArgs& args, Workspace& workspace);

/// Vocabulary-parallel cross entropy (Shoeybi et al. 2019, section 3). A NaN or infinite logit makes its
/// row's loss non-finite. Forward reads the valid logits once, the maximum and the sum in one pass; backward
/// reads and writes them once. exp is the processor's own in fp32 (2 ulp), exact in fp64.
void cross_entropy_forward(cudaStream_t stream, const CrossEntropyForwardArgs& args);
void cross_entropy_rescale(cudaStream_t stream, const CrossEntropyRescaleArgs& args);
void cross_entropy_loss(cudaStream_t stream, const CrossEntropyLossArgs& args);
void cross_entropy_backward(cudaStream_t stream, const CrossEntropyBackwardArgs& args);

void bias_gradient(cudaStream_t stream, const BiasGradientArgs& args, Workspace& workspace);

/// The second stage of every sum down columns. `partials` may be the stream's workspace. A: float, double.
template <class A>
void sum_chunks(cudaStream_t stream, const ChunkSums<A>& sums);

void sum_of_squares(cudaStream_t stream, const SumOfSquaresArgs& args, Workspace& workspace);

/// Own kernels beside cuBLASLt's products. Each row of c = or += bias [columns]; both of one floating-point type, or c fp32 and the bias bf16.
void set_rows_to_bias(cudaStream_t stream, const Tensor& bias, const Tensor& c, bool accumulate);

/// `count` random numbers in [-1, 1) of a floating-point type.
void fill_with_trial_values(cudaStream_t stream, void* data, DType dtype, std::int64_t count,
                            std::uint64_t seed);

/// *sum (device memory) += a checksum of `words` 8-byte words.
void add_checksum(cudaStream_t stream, const void* data, std::int64_t words, std::uint64_t* sum);

}  // namespace tenax::kernels::cuda
