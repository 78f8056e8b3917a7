// The fusions as compositions of plain operations: what a back end computes when it has nothing faster.
#include "kernels/kernels.hpp"

#include "kernels/error.hpp"

namespace tenax::kernels {

void Kernels::linear_forward(Stream& stream, const LinearForwardArgs& args) {
  matmul(stream, {.a = args.x, .b = args.weight, .c = args.y, .bias = args.bias});
}

void Kernels::linear_gelu_forward(Stream& stream, const LinearGeluForwardArgs& args) {
  matmul(stream, {.a = args.x, .b = args.weight, .c = args.pre, .bias = args.bias});
  gelu_forward(stream, {.x = args.pre, .y = args.y});
}

void Kernels::linear_backward_input(Stream& stream, const LinearBackwardInputArgs& args) {
  matmul(stream, {.a = args.d_y, .b = args.weight, .c = args.d_x, .transpose_b = true, .bias = {}});
}

void Kernels::linear_gelu_backward_input(Stream& stream, const LinearGeluBackwardInputArgs& args) {
  matmul(stream, {.a = args.d_y, .b = args.weight, .c = args.scratch, .transpose_b = true, .bias = {}});
  gelu_backward(stream, {.x = args.pre, .d_y = args.scratch, .d_x = args.d_pre});
}

void Kernels::linear_backward_weight(Stream& stream, const LinearBackwardWeightArgs& args) {
  matmul(stream, {.a = args.x,
                  .b = args.d_y,
                  .c = args.d_weight,
                  .transpose_a = true,
                  .bias = {},
                  .accumulate = args.accumulate});
  if (args.d_bias)
    bias_gradient(stream, {.d_y = args.d_y, .d_bias = args.d_bias, .accumulate = args.accumulate});
}

void Kernels::attention_decode(Stream&, const AttentionDecodeArgs&) {
  throw Error(Scope::operation, "this device computes nothing, so no text can be generated on it");
}

void Kernels::residual_layernorm_forward(Stream& stream, const ResidualLayerNormForwardArgs& args) {
  residual_add(stream, {.x = args.x, .delta = args.delta, .bias = args.bias, .out = args.sum});
  layernorm_forward(stream, {.x = args.sum,
                             .gamma = args.gamma,
                             .beta = args.beta,
                             .y = args.y,
                             .mean = args.mean,
                             .rstd = args.rstd,
                             .epsilon = args.epsilon});
}

}  // namespace tenax::kernels
