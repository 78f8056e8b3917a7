// The operations on the CPU: loops of our own over rows and blocks, run by Kokkos; oneDNN for
// matrix products.
#pragma once

#include "kernels/kernels.hpp"

namespace tenax::kernels {

/// Holds no state: several threads may call it at once, each with its own stream and tensors. Compute types
/// fp32, bf16 and fp64. Arithmetic on bf16 happens in fp32, results are rounded to nearest even.
class CpuKernels final : public Kernels {
 public:
  void matmul(Stream&, const MatmulArgs&) override;
  void bias_gradient(Stream&, const BiasGradientArgs&) override;

  void gelu_forward(Stream&, const GeluForwardArgs&) override;
  void gelu_backward(Stream&, const GeluBackwardArgs&) override;

  void layernorm_forward(Stream&, const LayerNormForwardArgs&) override;
  void residual_layernorm_forward(Stream&, const ResidualLayerNormForwardArgs&) override;
  void layernorm_backward(Stream&, const LayerNormBackwardArgs&) override;
  void residual_add(Stream&, const ResidualAddArgs&) override;

  void attention_forward(Stream&, const AttentionForwardArgs&) override;
  void attention_backward(Stream&, const AttentionBackwardArgs&) override;
  void attention_decode(Stream&, const AttentionDecodeArgs&) override;

  void embedding_forward(Stream&, const EmbeddingForwardArgs&) override;
  void embedding_backward(Stream&, const EmbeddingBackwardArgs&) override;

  void cross_entropy_forward(Stream&, const CrossEntropyForwardArgs&) override;
  void cross_entropy_rescale(Stream&, const CrossEntropyRescaleArgs&) override;
  void cross_entropy_loss(Stream&, const CrossEntropyLossArgs&) override;
  void cross_entropy_backward(Stream&, const CrossEntropyBackwardArgs&) override;

  void update_coefficients(Stream&, const UpdateCoefficientsArgs&) override;
  void adamw(Stream&, const UpdateArgs&) override;
  void lion(Stream&, const UpdateArgs&) override;
  void sum_of_squares(Stream&, const SumOfSquaresArgs&) override;

  void zero(Stream&, Tensor destination) override;
  void copy(Stream&, Tensor source, Tensor destination) override;
  void cast(Stream&, Tensor source, Tensor destination) override;
  void add(Stream&, Tensor source, Tensor destination) override;
  void maximum(Stream&, Tensor source, Tensor destination) override;

  void chunk_sum(Stream&, const ChunkSumArgs&) override;
};

}  // namespace tenax::kernels
