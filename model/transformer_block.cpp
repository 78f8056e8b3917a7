#include "model/transformer_block.hpp"

namespace tenax::model {

using kernels::DType;
using kernels::Shape;
using kernels::Stream;
using kernels::Tensor;

BlockActivations BlockActivations::take(Arena& arena, const GptConfig& config, int tensor_size,
                                        MicrobatchShape shape) {
  const DType compute = config.compute_dtype, sums = kernels::accumulation_of(compute);
  const std::int64_t rows = shape.rows(), h = config.hidden_size, f = config.ffn_hidden_size, t = tensor_size;
  BlockActivations act;
  if (!config.recomputes) act.ln_1 = arena.take(compute, {rows, h});
  act.ln_1_mean = arena.take(sums, {rows});
  act.ln_1_rstd = arena.take(sums, {rows});
  act.qkv = arena.take(compute, {rows, 3 * h / t});
  act.attention = arena.take(compute, {rows, h / t});
  act.log_sum_exp = arena.take(sums, {shape.sequences, config.num_attention_heads / t, shape.length});
  act.x_mid = arena.take(compute, {rows, h});
  if (!config.recomputes) act.ln_2 = arena.take(compute, {rows, h});
  act.ln_2_mean = arena.take(sums, {rows});
  act.ln_2_rstd = arena.take(sums, {rows});
  act.fc = arena.take(compute, {rows, f / t});
  if (!config.recomputes) act.gelu = arena.take(compute, {rows, f / t});
  act.d_norms = arena.take(sums, {4, h});
  return act;
}

BlockScratch BlockScratch::take(Arena& arena, const GptConfig& config, int tensor_size,
                                MicrobatchShape shape) {
  const std::int64_t rows = shape.rows(), h = config.hidden_size, t = tensor_size;
  BlockScratch scratch;
  scratch.residual = arena.take(config.compute_dtype, {rows, h});
  scratch.attention = arena.take(config.compute_dtype, {rows, h / t});
  scratch.ffn = arena.take(config.compute_dtype, {rows, config.ffn_hidden_size / t});
  if (!config.recomputes) return scratch;
  scratch.ln_1 = arena.take(config.compute_dtype, {rows, h});
  scratch.ln_2 = arena.take(config.compute_dtype, {rows, h});
  scratch.gelu = arena.take(config.compute_dtype, {rows, config.ffn_hidden_size / t});
  return scratch;
}

TransformerBlock::TransformerBlock(const GptConfig& config, std::int64_t layer,
                                   comm::Communicator& tensor_group, kernels::Kernels& kernels,
                                   ParameterTable& table)
    : config_(config), tensor_group_(tensor_group), kernels_(kernels) {
  const std::string prefix = "h." + std::to_string(layer) + ".";
  const std::int64_t h = config.hidden_size, f = config.ffn_hidden_size;
  ln_1_ = add_norm(table, prefix + "ln_1");
  attn_c_attn_ = add_linear(table, prefix + "attn.c_attn", h, 3 * h, Split::columns, 3);
  attn_c_proj_ = add_linear(table, prefix + "attn.c_proj", h, h, Split::rows, 1);
  ln_2_ = add_norm(table, prefix + "ln_2");
  mlp_c_fc_ = add_linear(table, prefix + "mlp.c_fc", h, f, Split::columns, 1);
  mlp_c_proj_ = add_linear(table, prefix + "mlp.c_proj", f, h, Split::rows, 1);
}

TransformerBlock::Norm TransformerBlock::add_norm(ParameterTable& table, const std::string& name) const {
  Norm norm;
  const kernels::ShardLayout layout{.logical = Shape{config_.hidden_size}};
  const bool replica = tensor_group_.rank() != 0;
  norm.gamma_row = table.add({name + ".weight", layout, Initialisation::ones, replica});
  norm.beta_row = table.add({name + ".bias", layout, Initialisation::zeros, replica});
  return norm;
}

TransformerBlock::Linear TransformerBlock::add_linear(ParameterTable& table, const std::string& name,
                                                      std::int64_t in, std::int64_t out, Split split,
                                                      int sections) const {
  const int parts = tensor_group_.size(), index = tensor_group_.rank();
  const bool columns = split == Split::columns;
  kernels::ShardLayout weight{.logical = Shape{in, out},
                              .axis = columns ? 1 : 0,
                              .parts = parts,
                              .index = index,
                              .sections = sections};
  kernels::ShardLayout bias{.logical = Shape{out}};
  if (columns)
    bias = {.logical = Shape{out}, .axis = 0, .parts = parts, .index = index, .sections = sections};
  Linear linear;
  const auto initialisation = columns ? Initialisation::normal : Initialisation::residual_projection;
  linear.weight_row = table.add({name + ".weight", weight, initialisation, false});
  linear.bias_row = table.add({name + ".bias", bias, Initialisation::zeros, !columns && index != 0});
  return linear;
}

void TransformerBlock::bind(const ParameterTable& table, const Tensor& weights, const Tensor& gradients) {
  for (Norm* norm : {&ln_1_, &ln_2_}) {
    norm->gamma = table.view(weights, norm->gamma_row);
    norm->beta = table.view(weights, norm->beta_row);
    if (!gradients) continue;
    norm->d_gamma = table.view(gradients, norm->gamma_row);
    norm->d_beta = table.view(gradients, norm->beta_row);
  }
  for (Linear* linear : {&attn_c_attn_, &attn_c_proj_, &mlp_c_fc_, &mlp_c_proj_}) {
    linear->weight = table.view(weights, linear->weight_row);
    linear->bias = table.view(weights, linear->bias_row);
    if (!gradients) continue;
    linear->d_weight = table.view(gradients, linear->weight_row);
    linear->d_bias = table.view(gradients, linear->bias_row);
  }
}

void TransformerBlock::forward(Stream& stream, MicrobatchShape shape, const BlockActivations& act,
                               const BlockScratch& scratch) {
  const auto sequences = [&](const Tensor& x) {
    return x.reshaped({shape.sequences, shape.length, x.columns()});
  };
  project_qkv(stream, act);
  kernels_.attention_forward(stream,
                             {sequences(act.qkv), sequences(act.attention), act.log_sum_exp, local_heads()});
  finish_forward(stream, act, scratch);
}

void TransformerBlock::decode(Stream& stream, const Tensor& cache, const BlockActivations& act,
                              const BlockScratch& scratch) {
  assert(tensor_group_.size() == 1 && act.x_in.rows() == 1);
  project_qkv(stream, act);
  kernels_.attention_decode(stream, {cache, act.attention, local_heads()});
  finish_forward(stream, act, scratch);
}

void TransformerBlock::project_qkv(Stream& stream, const BlockActivations& act) {
  kernels_.layernorm_forward(stream, {act.x_in, ln_1_.gamma, ln_1_.beta, act.ln_1, act.ln_1_mean,
                                      act.ln_1_rstd, GptConfig::kLayerNormEpsilon});
  kernels_.linear_forward(stream, {act.ln_1, attn_c_attn_.weight, attn_c_attn_.bias, act.qkv});
}

void TransformerBlock::finish_forward(Stream& stream, const BlockActivations& act,
                                      const BlockScratch& scratch) {
  kernels_.linear_forward(stream, {act.attention, attn_c_proj_.weight, {}, scratch.residual});
  tensor_group_.all_reduce(stream, scratch.residual, comm::ReduceOp::sum);
  kernels_.residual_layernorm_forward(
      stream, {act.x_in, scratch.residual, attn_c_proj_.bias, act.x_mid, ln_2_.gamma, ln_2_.beta, act.ln_2,
               act.ln_2_mean, act.ln_2_rstd, GptConfig::kLayerNormEpsilon});
  kernels_.linear_gelu_forward(stream, {act.ln_2, mlp_c_fc_.weight, mlp_c_fc_.bias, act.fc, act.gelu});
  kernels_.linear_forward(stream, {act.gelu, mlp_c_proj_.weight, {}, scratch.residual});
  tensor_group_.all_reduce(stream, scratch.residual, comm::ReduceOp::sum);
  kernels_.residual_add(stream, {act.x_mid, scratch.residual, mlp_c_proj_.bias, act.x_out});
}

void TransformerBlock::recompute(Stream& stream, const BlockActivations& act) {
  kernels_.layernorm_forward(stream, {act.x_in, ln_1_.gamma, ln_1_.beta, act.ln_1, act.ln_1_mean,
                                      act.ln_1_rstd, GptConfig::kLayerNormEpsilon});
  kernels_.layernorm_forward(stream, {act.x_mid, ln_2_.gamma, ln_2_.beta, act.ln_2, act.ln_2_mean,
                                      act.ln_2_rstd, GptConfig::kLayerNormEpsilon});
  kernels_.gelu_forward(stream, {act.fc, act.gelu});
}

void TransformerBlock::backward_input(Stream& stream, MicrobatchShape shape, const BlockActivations& act,
                                      const BlockScratch& scratch) {
  input_gradients(stream, shape, act, scratch, act.qkv);
}

void TransformerBlock::backward_weight(Stream& stream, const BlockActivations& act, bool accumulate) {
  weight_gradients(stream, act, act.qkv, accumulate);
}

void TransformerBlock::backward(Stream& stream, MicrobatchShape shape, const BlockActivations& act,
                                const BlockScratch& scratch, bool accumulate) {
  const Tensor d_qkv = has_room_for_d_qkv(config_) ? scratch.ffn.part(0, act.qkv.shape) : act.qkv;
  input_gradients(stream, shape, act, scratch, d_qkv);
  weight_gradients(stream, act, d_qkv, accumulate);
}

void TransformerBlock::input_gradients(Stream& stream, MicrobatchShape shape, const BlockActivations& act,
                                       const BlockScratch& scratch, const Tensor& d_qkv) {
  const auto sequences = [&](const Tensor& x) {
    return x.reshaped({shape.sequences, shape.length, x.columns()});
  };
  const auto d_norm = [&](int i) { return act.d_norms.part(i * config_.hidden_size, {config_.hidden_size}); };
  const Tensor d_out = act.x_out, d_mid = act.x_mid, d_in = act.x_in, d_fc = act.fc;

  kernels_.linear_gelu_backward_input(stream, {d_out, mlp_c_proj_.weight, act.fc, d_fc, scratch.ffn});
  kernels_.linear_backward_input(stream, {d_fc, mlp_c_fc_.weight, scratch.residual});
  tensor_group_.all_reduce(stream, scratch.residual, comm::ReduceOp::sum);
  kernels_.layernorm_backward(stream, {act.x_mid, act.ln_2_mean, act.ln_2_rstd, ln_2_.gamma, scratch.residual,
                                       d_out, d_mid, d_norm(2), d_norm(3)});
  kernels_.linear_backward_input(stream, {d_mid, attn_c_proj_.weight, scratch.attention});
  kernels_.attention_backward(
      stream, {sequences(act.qkv), sequences(act.attention), sequences(scratch.attention), act.log_sum_exp,
               sequences(d_qkv), local_heads()});
  kernels_.linear_backward_input(stream, {d_qkv, attn_c_attn_.weight, scratch.residual});
  tensor_group_.all_reduce(stream, scratch.residual, comm::ReduceOp::sum);
  kernels_.layernorm_backward(stream, {act.x_in, act.ln_1_mean, act.ln_1_rstd, ln_1_.gamma, scratch.residual,
                                       d_mid, d_in, d_norm(0), d_norm(1)});
}

void TransformerBlock::weight_gradients(Stream& stream, const BlockActivations& act, const Tensor& d_qkv,
                                        bool accumulate) {
  const std::int64_t h = config_.hidden_size;
  linear_gradient(stream, mlp_c_proj_, act.gelu, act.x_out, accumulate);
  linear_gradient(stream, mlp_c_fc_, act.ln_2, act.fc, accumulate);
  add_norm_gradient(stream, ln_2_, act.d_norms.part(2 * h, {2, h}), accumulate);
  linear_gradient(stream, attn_c_proj_, act.attention, act.x_mid, accumulate);
  linear_gradient(stream, attn_c_attn_, act.ln_1, d_qkv, accumulate);
  add_norm_gradient(stream, ln_1_, act.d_norms.part(0, {2, h}), accumulate);
}

void TransformerBlock::linear_gradient(Stream& stream, const Linear& linear, const Tensor& x,
                                       const Tensor& d_y, bool accumulate) {
  kernels_.linear_backward_weight(stream, {x, d_y, linear.d_weight, linear.d_bias, accumulate});
}

void TransformerBlock::add_norm_gradient(Stream& stream, const Norm& norm, const Tensor& d_gamma_beta,
                                         bool accumulate) {
  accumulate_vector(kernels_, stream, d_gamma_beta.part(0, norm.d_gamma.shape), norm.d_gamma, accumulate);
  accumulate_vector(kernels_, stream, d_gamma_beta.part(norm.d_gamma.size(), norm.d_beta.shape), norm.d_beta,
                    accumulate);
}

void accumulate_vector(kernels::Kernels& kernels, Stream& stream, const Tensor& source,
                       const Tensor& destination, bool accumulate) {
  if (accumulate)
    kernels.add(stream, source, destination);
  else
    kernels.copy(stream, source, destination);
}

}  // namespace tenax::model
