#include "model/language_head.hpp"

#include <algorithm>

namespace tenax::model {

using kernels::DType;
using kernels::Shape;
using kernels::Stream;
using kernels::Tensor;

HeadActivations HeadActivations::take(Arena& arena, const GptConfig& config, int tensor_size,
                                      MicrobatchShape shape) {
  const DType compute = config.compute_dtype, sums = kernels::accumulation_of(compute);
  const std::int64_t rows = shape.rows(), h = config.hidden_size;
  HeadActivations act;
  act.ln_f = arena.take(compute, {rows, h});
  act.ln_f_mean = arena.take(sums, {rows});
  act.ln_f_rstd = arena.take(sums, {rows});
  act.logits = arena.take(compute, {rows, config.padded_vocab_size(tensor_size) / tensor_size});
  act.log_sum_exp = arena.take(sums, {rows});
  act.d_norm = arena.take(sums, {2, h});
  return act;
}

HeadScratch HeadScratch::take(Arena& arena, const GptConfig& config, MicrobatchShape shape) {
  const DType sums = kernels::accumulation_of(config.compute_dtype);
  const std::int64_t rows = shape.rows();
  HeadScratch scratch;
  scratch.local_max = arena.take(sums, {rows});
  scratch.global_max = arena.take(sums, {rows});
  scratch.sums = arena.take(sums, {2, rows});
  scratch.d_ln_f = arena.take(config.compute_dtype, {rows, config.hidden_size});
  return scratch;
}

LanguageHead::LanguageHead(const GptConfig& config, int wte_row, comm::Communicator& tensor_group,
                           kernels::Kernels& kernels, ParameterTable& table)
    : config_(config),
      tensor_group_(tensor_group),
      kernels_(kernels),
      wte_row_(wte_row),
      tied_copy_(wte_row < 0) {
  const kernels::ShardLayout norm{.logical = Shape{config.hidden_size}};
  gamma_row_ = table.add({"ln_f.weight", norm, Initialisation::ones, tensor_group.rank() != 0});
  beta_row_ = table.add({"ln_f.bias", norm, Initialisation::zeros, tensor_group.rank() != 0});
  if (tied_copy_) wte_row_ = table.add(token_embedding_row(config, tensor_group, true));
  const std::int64_t shard = table.row(wte_row_).layout.local()[0];
  vocab_begin_ = shard * tensor_group.rank();
  valid_columns_ = std::clamp<std::int64_t>(config.vocab_size - vocab_begin_, 0, shard);
}

void LanguageHead::bind(const ParameterTable& table, const Tensor& weights, const Tensor& gradients) {
  gamma_ = table.view(weights, gamma_row_);
  beta_ = table.view(weights, beta_row_);
  wte_ = table.view(weights, wte_row_);
  if (!gradients) return;
  d_gamma_ = table.view(gradients, gamma_row_);
  d_beta_ = table.view(gradients, beta_row_);
  d_wte_ = table.view(gradients, wte_row_);
}

void LanguageHead::forward(Stream& stream, const Tensor& x, const Tensor& targets, const HeadActivations& act,
                           const HeadScratch& scratch, const Tensor& losses) {
  logits(stream, x, act);
  const Tensor row_sum = scratch.sums.part(0, losses.shape),
               target_logit = scratch.sums.part(x.rows(), losses.shape);
  kernels_.cross_entropy_forward(
      stream, {act.logits, targets, scratch.local_max, row_sum, target_logit, vocab_begin_, valid_columns_});
  kernels_.copy(stream, scratch.local_max, scratch.global_max);
  tensor_group_.all_reduce(stream, scratch.global_max, comm::ReduceOp::max);
  kernels_.cross_entropy_rescale(stream, {scratch.local_max, scratch.global_max, row_sum});
  tensor_group_.all_reduce(stream, scratch.sums, comm::ReduceOp::sum);
  kernels_.cross_entropy_loss(stream, {scratch.global_max, row_sum, target_logit, act.log_sum_exp, losses});
}

void LanguageHead::backward_input(Stream& stream, const Tensor& x, const Tensor& targets,
                                  const HeadActivations& act, const HeadScratch& scratch) {
  const std::int64_t h = config_.hidden_size;
  const Tensor d_logits = act.logits;
  kernels_.cross_entropy_backward(
      stream, {act.logits, targets, act.log_sum_exp, d_logits, vocab_begin_, valid_columns_, 1.0});
  kernels_.matmul(stream, {d_logits, wte_, scratch.d_ln_f, false, false, {}, false});
  tensor_group_.all_reduce(stream, scratch.d_ln_f, comm::ReduceOp::sum);
  kernels_.layernorm_backward(stream, {x,
                                       act.ln_f_mean,
                                       act.ln_f_rstd,
                                       gamma_,
                                       scratch.d_ln_f,
                                       {},
                                       x,
                                       act.d_norm.part(0, {h}),
                                       act.d_norm.part(h, {h})});
}

void LanguageHead::backward_weight(Stream& stream, const HeadActivations& act, bool accumulate) {
  const std::int64_t h = config_.hidden_size;
  kernels_.matmul(stream, {act.logits, act.ln_f, d_wte_, true, false, {}, accumulate});
  accumulate_vector(kernels_, stream, act.d_norm.part(0, {h}), d_gamma_, accumulate);
  accumulate_vector(kernels_, stream, act.d_norm.part(h, {h}), d_beta_, accumulate);
}

void LanguageHead::logits(Stream& stream, const Tensor& x, const HeadActivations& act) {
  kernels_.layernorm_forward(
      stream, {x, gamma_, beta_, act.ln_f, act.ln_f_mean, act.ln_f_rstd, GptConfig::kLayerNormEpsilon});
  kernels_.matmul(stream, {act.ln_f, wte_, act.logits, false, true, {}, false});
}

}  // namespace tenax::model
