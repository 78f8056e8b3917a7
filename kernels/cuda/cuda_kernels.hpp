// The operations on the GPU: each is a function of its own file, which this class gives its stream and
// scratch memory.
#pragma once

#include "kernels/cuda/cudnn_attention.hpp"
#include "kernels/cuda/matmul.hpp"
#include "kernels/cuda/weight_update.hpp"
#include "kernels/cuda_device.hpp"
#include "kernels/kernels.hpp"

namespace tenax::kernels::cuda {

/// Several threads may call it at once, each with its own stream. Compute types fp32, bf16 and fp64; fp64 is
/// for tests. Arithmetic on bf16 happens in fp32, results are rounded to nearest even.
class CudaKernels final : public Kernels {
 public:
  /// For the device that is current.
  explicit CudaKernels(const CudaOptions& options);

  Choices& choices() { return choices_; }
  const Choices& choices() const { return choices_; }
  /// CudnnAttention::known_backward_bytes.
  std::optional<std::size_t> known_attention_bytes(const AttentionShape& shape, bool in_place) const {
    return attention_.known_backward_bytes(shape, in_place);
  }

  void matmul(Stream&, const MatmulArgs&) override;
  void linear_gelu_forward(Stream&, const LinearGeluForwardArgs&) override;
  void linear_gelu_backward_input(Stream&, const LinearGeluBackwardInputArgs&) override;
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

 private:
  Choices choices_;
  CudaMatmul matmul_;
  CudnnAttention attention_;
  UpdateRounding rounding_;
};

}  // namespace tenax::kernels::cuda
