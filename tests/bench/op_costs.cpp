#include "tests/bench/op_costs.hpp"

namespace tenax::bench {

using kernels::Tensor;

namespace {

template <class... Tensors>
double bytes_of(const Tensors&... tensors) {
  return ((tensors ? static_cast<double>(tensors.bytes()) : 0.0) + ...);
}

double product_flop(std::int64_t m, std::int64_t n, std::int64_t k) {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

double twice_if(bool accumulates, const Tensor& tensor) { return (accumulates ? 2 : 1) * bytes_of(tensor); }

// One product of queries with keys, or of weights with values, over the causal half.
double attention_product_flop(const Tensor& out) {
  return product_flop(out.shape[0] * out.shape[1], out.shape[1], out.shape[2]) / 2;
}

}  // namespace

OpCost cost_of(const kernels::MatmulArgs& a) {
  const std::int64_t k = a.transpose_a ? a.a.shape[0] : a.a.shape[1];
  return {product_flop(a.c.rows(), a.c.columns(), k),
          bytes_of(a.a, a.b, a.bias) + twice_if(a.accumulate, a.c)};
}
OpCost cost_of(const kernels::LinearForwardArgs& a) {
  return {product_flop(a.x.rows(), a.y.columns(), a.x.columns()), bytes_of(a.x, a.weight, a.bias, a.y)};
}
OpCost cost_of(const kernels::LinearGeluForwardArgs& a) {
  return {product_flop(a.x.rows(), a.y.columns(), a.x.columns()),
          bytes_of(a.x, a.weight, a.bias, a.pre, a.y)};
}
OpCost cost_of(const kernels::LinearBackwardInputArgs& a) {
  return {product_flop(a.d_x.rows(), a.d_x.columns(), a.d_y.columns()), bytes_of(a.d_y, a.weight, a.d_x)};
}
OpCost cost_of(const kernels::LinearGeluBackwardInputArgs& a) {
  return {product_flop(a.d_pre.rows(), a.d_pre.columns(), a.d_y.columns()),
          bytes_of(a.d_y, a.weight, a.pre, a.d_pre)};
}
OpCost cost_of(const kernels::LinearBackwardWeightArgs& a) {
  return {product_flop(a.x.columns(), a.d_y.columns(), a.x.rows()),
          bytes_of(a.x, a.d_y) + twice_if(a.accumulate, a.d_weight) + twice_if(a.accumulate, a.d_bias)};
}
OpCost cost_of(const kernels::BiasGradientArgs& a) {
  return {0, bytes_of(a.d_y) + twice_if(a.accumulate, a.d_bias)};
}
OpCost cost_of(const kernels::GeluForwardArgs& a) { return {0, bytes_of(a.x, a.y)}; }
OpCost cost_of(const kernels::GeluBackwardArgs& a) { return {0, bytes_of(a.x, a.d_y, a.d_x)}; }
OpCost cost_of(const kernels::LayerNormForwardArgs& a) {
  return {0, bytes_of(a.x, a.gamma, a.beta, a.y, a.mean, a.rstd)};
}
OpCost cost_of(const kernels::ResidualLayerNormForwardArgs& a) {
  return {0, bytes_of(a.x, a.delta, a.bias, a.sum, a.gamma, a.beta, a.y, a.mean, a.rstd)};
}
OpCost cost_of(const kernels::LayerNormBackwardArgs& a) {
  return {0, bytes_of(a.x, a.mean, a.rstd, a.gamma, a.d_y, a.d_residual, a.d_x, a.d_gamma, a.d_beta)};
}
OpCost cost_of(const kernels::ChunkSumArgs& a) { return {0, bytes_of(a.own, a.incoming, a.result)}; }
OpCost cost_of(const kernels::ResidualAddArgs& a) { return {0, bytes_of(a.x, a.delta, a.bias, a.out)}; }
OpCost cost_of(const kernels::AttentionForwardArgs& a) {
  return {2 * attention_product_flop(a.out), bytes_of(a.qkv, a.out, a.log_sum_exp)};
}
OpCost cost_of(const kernels::AttentionBackwardArgs& a) {
  return {5 * attention_product_flop(a.out), bytes_of(a.qkv, a.out, a.d_out, a.log_sum_exp, a.d_qkv)};
}
// Of the tables only the rows of tokens, each as long as a row of the output.
OpCost cost_of(const kernels::EmbeddingForwardArgs& a) {
  return {0, bytes_of(a.tokens) + (a.wpe ? 3 : 2) * bytes_of(a.out)};
}
OpCost cost_of(const kernels::EmbeddingBackwardArgs& a) {
  const double row_bytes =
      static_cast<double>(kernels::bytes_of(a.d_wte.dtype)) / kernels::bytes_of(a.d_x.dtype);
  return {0, bytes_of(a.tokens) + bytes_of(a.d_x) * (1 + 2 * row_bytes) + 2 * bytes_of(a.d_wpe)};
}
OpCost cost_of(const kernels::CrossEntropyForwardArgs& a) {
  return {0, bytes_of(a.logits, a.targets, a.row_max, a.row_sum, a.target_logit)};
}
OpCost cost_of(const kernels::CrossEntropyRescaleArgs& a) {
  return {0, bytes_of(a.local_max, a.global_max) + 2 * bytes_of(a.row_sum)};
}
OpCost cost_of(const kernels::CrossEntropyLossArgs& a) {
  return {0, bytes_of(a.row_max, a.row_sum, a.target_logit, a.log_sum_exp, a.losses)};
}
OpCost cost_of(const kernels::CrossEntropyBackwardArgs& a) {
  return {0, bytes_of(a.logits, a.targets, a.log_sum_exp, a.d_logits)};
}
OpCost cost_of(const kernels::UpdateCoefficientsArgs& a) { return {0, bytes_of(a.coefficients)}; }
OpCost cost_of(const kernels::UpdateArgs& args) {
  OpCost cost;
  for (const kernels::UpdateStretch& a : args.stretches)
    cost.bytes += 2 * bytes_of(a.master, a.moments[0], a.moments[1]) + bytes_of(a.gradient, a.compute);
  return cost;
}
OpCost cost_of(const kernels::SumOfSquaresArgs& args) {
  OpCost cost;
  for (const Tensor& part : args.parts) cost.bytes += bytes_of(part);
  return cost;
}

OpCost cost_of_elementwise(const Tensor& source, const Tensor& destination, bool accumulates) {
  return {0, bytes_of(source) + twice_if(accumulates, destination)};
}

}  // namespace tenax::bench
