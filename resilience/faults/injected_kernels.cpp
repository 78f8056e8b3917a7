#include "resilience/faults/injected_kernels.hpp"

#include <algorithm>
#include <utility>

#include "kernels/deadline.hpp"

namespace tenax::resilience {

using kernels::Kernels;
using kernels::Stream;
using kernels::Tensor;

namespace {

/// When the stream has come so far.
double time_s(Stream& stream, kernels::Event& mark) {
  stream.record(mark);
  return mark.time_s();
}

}  // namespace

template <class... Parameters, class... Arguments>
void InjectedKernels::slowly(Stream& stream, void (Kernels::*operation)(Stream&, Parameters...),
                             Arguments&&... arguments) {
  const double excess = faults_.factor() - 1;
  const auto mark = device_.create_event();
  const double begin_s = std::max(time_s(stream, *mark), kernels::steady_now_s());
  (inner_.*operation)(stream, std::forward<Arguments>(arguments)...);
  if (excess > 0) prolong_(stream, excess * std::max(time_s(stream, *mark) - begin_s, 0.0));
}

void InjectedKernels::matmul(Stream& stream, const kernels::MatmulArgs& args) {
  slowly(stream, &Kernels::matmul, args);
}
void InjectedKernels::linear_forward(Stream& stream, const kernels::LinearForwardArgs& args) {
  slowly(stream, &Kernels::linear_forward, args);
}
void InjectedKernels::linear_gelu_forward(Stream& stream, const kernels::LinearGeluForwardArgs& args) {
  slowly(stream, &Kernels::linear_gelu_forward, args);
}
void InjectedKernels::linear_backward_input(Stream& stream, const kernels::LinearBackwardInputArgs& args) {
  slowly(stream, &Kernels::linear_backward_input, args);
}
void InjectedKernels::linear_gelu_backward_input(Stream& stream,
                                                 const kernels::LinearGeluBackwardInputArgs& args) {
  slowly(stream, &Kernels::linear_gelu_backward_input, args);
}
void InjectedKernels::linear_backward_weight(Stream& stream, const kernels::LinearBackwardWeightArgs& args) {
  slowly(stream, &Kernels::linear_backward_weight, args);
}
void InjectedKernels::bias_gradient(Stream& stream, const kernels::BiasGradientArgs& args) {
  slowly(stream, &Kernels::bias_gradient, args);
}
void InjectedKernels::gelu_forward(Stream& stream, const kernels::GeluForwardArgs& args) {
  slowly(stream, &Kernels::gelu_forward, args);
}
void InjectedKernels::gelu_backward(Stream& stream, const kernels::GeluBackwardArgs& args) {
  slowly(stream, &Kernels::gelu_backward, args);
}
void InjectedKernels::layernorm_forward(Stream& stream, const kernels::LayerNormForwardArgs& args) {
  slowly(stream, &Kernels::layernorm_forward, args);
}
void InjectedKernels::residual_layernorm_forward(Stream& stream,
                                                 const kernels::ResidualLayerNormForwardArgs& args) {
  slowly(stream, &Kernels::residual_layernorm_forward, args);
}
void InjectedKernels::layernorm_backward(Stream& stream, const kernels::LayerNormBackwardArgs& args) {
  slowly(stream, &Kernels::layernorm_backward, args);
}
void InjectedKernels::residual_add(Stream& stream, const kernels::ResidualAddArgs& args) {
  slowly(stream, &Kernels::residual_add, args);
}
void InjectedKernels::attention_forward(Stream& stream, const kernels::AttentionForwardArgs& args) {
  slowly(stream, &Kernels::attention_forward, args);
}
void InjectedKernels::attention_backward(Stream& stream, const kernels::AttentionBackwardArgs& args) {
  slowly(stream, &Kernels::attention_backward, args);
}
void InjectedKernels::attention_decode(Stream& stream, const kernels::AttentionDecodeArgs& args) {
  slowly(stream, &Kernels::attention_decode, args);
}
void InjectedKernels::embedding_forward(Stream& stream, const kernels::EmbeddingForwardArgs& args) {
  slowly(stream, &Kernels::embedding_forward, args);
}
void InjectedKernels::embedding_backward(Stream& stream, const kernels::EmbeddingBackwardArgs& args) {
  slowly(stream, &Kernels::embedding_backward, args);
}
void InjectedKernels::cross_entropy_forward(Stream& stream, const kernels::CrossEntropyForwardArgs& args) {
  slowly(stream, &Kernels::cross_entropy_forward, args);
}
void InjectedKernels::cross_entropy_rescale(Stream& stream, const kernels::CrossEntropyRescaleArgs& args) {
  slowly(stream, &Kernels::cross_entropy_rescale, args);
}
void InjectedKernels::cross_entropy_loss(Stream& stream, const kernels::CrossEntropyLossArgs& args) {
  slowly(stream, &Kernels::cross_entropy_loss, args);
}
void InjectedKernels::cross_entropy_backward(Stream& stream, const kernels::CrossEntropyBackwardArgs& args) {
  slowly(stream, &Kernels::cross_entropy_backward, args);
}
void InjectedKernels::update_coefficients(Stream& stream, const kernels::UpdateCoefficientsArgs& args) {
  slowly(stream, &Kernels::update_coefficients, args);
}
void InjectedKernels::adamw(Stream& stream, const kernels::UpdateArgs& args) {
  slowly(stream, &Kernels::adamw, args);
}
void InjectedKernels::lion(Stream& stream, const kernels::UpdateArgs& args) {
  slowly(stream, &Kernels::lion, args);
}
void InjectedKernels::sum_of_squares(Stream& stream, const kernels::SumOfSquaresArgs& args) {
  slowly(stream, &Kernels::sum_of_squares, args);
}
void InjectedKernels::chunk_sum(Stream& stream, const kernels::ChunkSumArgs& args) {
  slowly(stream, &Kernels::chunk_sum, args);
}
void InjectedKernels::zero(Stream& stream, Tensor destination) {
  slowly(stream, &Kernels::zero, destination);
}
void InjectedKernels::cast(Stream& stream, Tensor source, Tensor destination) {
  slowly(stream, &Kernels::cast, source, destination);
}
void InjectedKernels::add(Stream& stream, Tensor source, Tensor destination) {
  slowly(stream, &Kernels::add, source, destination);
}
void InjectedKernels::maximum(Stream& stream, Tensor source, Tensor destination) {
  slowly(stream, &Kernels::maximum, source, destination);
}

}  // namespace tenax::resilience
