// InjectedKernels: operations that take longer than they need, as ComputeFaults say.
#pragma once

#include <functional>

#include "kernels/kernels.hpp"
#include "resilience/faults/compute_faults.hpp"

namespace tenax::resilience {

/// Each operation is the inner device's own one, fused ones included, and so are its results. Copies
/// keep their time.
class InjectedKernels final : public kernels::Kernels {
 public:
  using Stream = kernels::Stream;
  using Tensor = kernels::Tensor;
  /// Lets so many more seconds pass before the stream's next operation.
  using Prolong = std::function<void(Stream&, double seconds)>;

  /// `inner` and `faults` must outlive it. An operation's own time is that from its launch, or
  /// from when its stream is free, to the event after it.
  InjectedKernels(kernels::Device& inner, const ComputeFaults& faults, Prolong prolong)
      : device_(inner), inner_(inner.kernels()), faults_(faults), prolong_(std::move(prolong)) {}

  void matmul(Stream&, const kernels::MatmulArgs&) override;
  void linear_forward(Stream&, const kernels::LinearForwardArgs&) override;
  void linear_gelu_forward(Stream&, const kernels::LinearGeluForwardArgs&) override;
  void linear_backward_input(Stream&, const kernels::LinearBackwardInputArgs&) override;
  void linear_gelu_backward_input(Stream&, const kernels::LinearGeluBackwardInputArgs&) override;
  void linear_backward_weight(Stream&, const kernels::LinearBackwardWeightArgs&) override;
  void bias_gradient(Stream&, const kernels::BiasGradientArgs&) override;
  void gelu_forward(Stream&, const kernels::GeluForwardArgs&) override;
  void gelu_backward(Stream&, const kernels::GeluBackwardArgs&) override;
  void layernorm_forward(Stream&, const kernels::LayerNormForwardArgs&) override;
  void residual_layernorm_forward(Stream&, const kernels::ResidualLayerNormForwardArgs&) override;
  void layernorm_backward(Stream&, const kernels::LayerNormBackwardArgs&) override;
  void residual_add(Stream&, const kernels::ResidualAddArgs&) override;
  void attention_forward(Stream&, const kernels::AttentionForwardArgs&) override;
  void attention_backward(Stream&, const kernels::AttentionBackwardArgs&) override;
  void attention_decode(Stream&, const kernels::AttentionDecodeArgs&) override;
  void embedding_forward(Stream&, const kernels::EmbeddingForwardArgs&) override;
  void embedding_backward(Stream&, const kernels::EmbeddingBackwardArgs&) override;
  void cross_entropy_forward(Stream&, const kernels::CrossEntropyForwardArgs&) override;
  void cross_entropy_rescale(Stream&, const kernels::CrossEntropyRescaleArgs&) override;
  void cross_entropy_loss(Stream&, const kernels::CrossEntropyLossArgs&) override;
  void cross_entropy_backward(Stream&, const kernels::CrossEntropyBackwardArgs&) override;
  void update_coefficients(Stream&, const kernels::UpdateCoefficientsArgs&) override;
  void adamw(Stream&, const kernels::UpdateArgs&) override;
  void lion(Stream&, const kernels::UpdateArgs&) override;
  void sum_of_squares(Stream&, const kernels::SumOfSquaresArgs&) override;
  void zero(Stream&, Tensor destination) override;
  void copy(Stream& stream, Tensor source, Tensor destination) override {
    inner_.copy(stream, source, destination);
  }
  void cast(Stream&, Tensor source, Tensor destination) override;
  void add(Stream&, Tensor source, Tensor destination) override;
  void maximum(Stream&, Tensor source, Tensor destination) override;
  void chunk_sum(Stream&, const kernels::ChunkSumArgs&) override;

 private:
  template <class... Parameters, class... Arguments>
  void slowly(Stream& stream, void (Kernels::*operation)(Stream&, Parameters...), Arguments&&... arguments);

  kernels::Device& device_;
  kernels::Kernels& inner_;
  const ComputeFaults& faults_;
  const Prolong prolong_;
};

}  // namespace tenax::resilience
