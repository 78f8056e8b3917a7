// The operations of the emulated device: none touches data, and none takes time but the matrix product and
// copies between host and device.
#pragma once

#include <functional>
#include <utility>

#include "kernels/kernels.hpp"

namespace tenax::kernels {

class EmulatedKernels final : public Kernels {
 public:
  /// `probe`: what a matrix product does.
  EmulatedKernels(double copy_s, std::function<void(Stream&)> probe)
      : copy_s_(copy_s), probe_(std::move(probe)) {}

  void matmul(Stream& stream, const MatmulArgs&) override { probe_(stream); }
  void bias_gradient(Stream&, const BiasGradientArgs&) override {}
  void gelu_forward(Stream&, const GeluForwardArgs&) override {}
  void gelu_backward(Stream&, const GeluBackwardArgs&) override {}
  void layernorm_forward(Stream&, const LayerNormForwardArgs&) override {}
  void layernorm_backward(Stream&, const LayerNormBackwardArgs&) override {}
  void residual_add(Stream&, const ResidualAddArgs&) override {}
  void attention_forward(Stream&, const AttentionForwardArgs&) override {}
  void attention_backward(Stream&, const AttentionBackwardArgs&) override {}
  void embedding_forward(Stream&, const EmbeddingForwardArgs&) override {}
  void embedding_backward(Stream&, const EmbeddingBackwardArgs&) override {}
  void cross_entropy_forward(Stream&, const CrossEntropyForwardArgs&) override {}
  void cross_entropy_rescale(Stream&, const CrossEntropyRescaleArgs&) override {}
  void cross_entropy_loss(Stream&, const CrossEntropyLossArgs&) override {}
  void cross_entropy_backward(Stream&, const CrossEntropyBackwardArgs&) override {}
  void update_coefficients(Stream&, const UpdateCoefficientsArgs&) override {}
  void adamw(Stream&, const UpdateArgs&) override {}
  void lion(Stream&, const UpdateArgs&) override {}
  void sum_of_squares(Stream&, const SumOfSquaresArgs&) override {}
  void zero(Stream&, Tensor) override {}
  void cast(Stream&, Tensor, Tensor) override {}
  void add(Stream&, Tensor, Tensor) override {}
  void maximum(Stream&, Tensor, Tensor) override {}
  void chunk_sum(Stream&, const ChunkSumArgs&) override {}

  void copy(Stream& stream, Tensor source, Tensor destination) override;

 private:
  double copy_s_;
  std::function<void(Stream&)> probe_;
};

}  // namespace tenax::kernels
