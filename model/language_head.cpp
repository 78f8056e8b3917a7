#include "model/language_head.hpp"

#include <algorithm>

namespace tenax::model {

using kernels::DType;
using kernels::Shape;
using kernels::Stream;
using kernels::Tensor;

namespace {

/// Chunks are equal but for the last one.
std::int64_t rows_of_chunk(std::int64_t rows, std::int64_t most) {
  const std::int64_t chunks = (rows + most - 1) / most;
  return (rows + chunks - 1) / chunks;
}

}  // namespace

HeadActivations HeadActivations::take(Arena& arena, const GptConfig& config, MicrobatchShape shape) {
  const DType compute = config.compute_dtype, sums = kernels::accumulation_of(compute);
  const std::int64_t rows = shape.rows(), h = config.hidden_size;
  HeadActivations act;
  act.ln_f = arena.take(compute, {rows, h});
  act.ln_f_mean = arena.take(sums, {rows});
  act.ln_f_rstd = arena.take(sums, {rows});
  act.d_norm = arena.take(sums, {2, h});
  return act;
}

HeadScratch HeadScratch::take(Arena& arena, const GptConfig& config, int tensor_size, MicrobatchShape shape) {
  const DType sums = kernels::accumulation_of(config.compute_dtype);
  const std::int64_t rows = rows_of_chunk(shape.rows(), config.logit_rows);
  HeadScratch scratch;
  scratch.logits =
      arena.take(config.compute_dtype, {rows, config.padded_vocab_size(tensor_size) / tensor_size});
  scratch.local_max = arena.take(sums, {rows});
  scratch.global_max = arena.take(sums, {rows});
  scratch.sums = arena.take(sums, {2, rows});
  return scratch;
}

HeadScratch HeadScratch::first_rows(std::int64_t rows) const {
  HeadScratch part;
  part.logits = logits.part(0, {rows, logits.columns()});
  part.local_max = local_max.part(0, {rows});
  part.global_max = global_max.part(0, {rows});
  part.sums = sums.part(0, {2, rows});
  return part;
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
                           const HeadScratch& scratch, const Tensor& losses, ForwardGradients gradients) {
  const std::int64_t h = config_.hidden_size, rows = x.rows();
  normalise(stream, x, act);
  for (std::int64_t begin = 0, count = 0; begin < rows; begin += count) {
    count = std::min(scratch.logits.rows(), rows - begin);
    const HeadScratch chunk = scratch.first_rows(count);
    const Tensor ln_f = act.ln_f.part(begin * h, {count, h}), chunk_targets = targets.part(begin, {count});
    kernels_.matmul(stream, {ln_f, wte_, chunk.logits, false, true, {}, false});
    losses_of(stream, chunk, chunk_targets, losses.part(begin, {count}));
    if (gradients != ForwardGradients::none)
      gradients_of(stream, chunk, chunk_targets, ln_f, begin > 0 || gradients == ForwardGradients::add);
  }
}

void LanguageHead::losses_of(Stream& stream, const HeadScratch& chunk, const Tensor& targets,
                             const Tensor& losses) {
  const Tensor row_sum = chunk.sums.part(0, losses.shape),
               target_logit = chunk.sums.part(losses.size(), losses.shape);
  kernels_.cross_entropy_forward(
      stream, {chunk.logits, targets, chunk.local_max, row_sum, target_logit, vocab_begin_, valid_columns_});
  kernels_.copy(stream, chunk.local_max, chunk.global_max);
  tensor_group_.all_reduce(stream, chunk.global_max, comm::ReduceOp::max);
  kernels_.cross_entropy_rescale(stream, {chunk.local_max, chunk.global_max, row_sum});
  tensor_group_.all_reduce(stream, chunk.sums, comm::ReduceOp::sum);
  kernels_.cross_entropy_loss(stream, {chunk.global_max, row_sum, target_logit, row_sum, losses});
}

void LanguageHead::gradients_of(Stream& stream, const HeadScratch& chunk, const Tensor& targets,
                                const Tensor& ln_f, bool accumulate) {
  const Tensor &d_logits = chunk.logits, log_sum_exp = chunk.sums.part(0, targets.shape), &d_ln_f = ln_f;
  kernels_.cross_entropy_backward(
      stream, {chunk.logits, targets, log_sum_exp, d_logits, vocab_begin_, valid_columns_, 1.0});
  kernels_.matmul(stream, {d_logits, ln_f, d_wte_, true, false, {}, accumulate});
  kernels_.matmul(stream, {d_logits, wte_, d_ln_f, false, false, {}, false});
}

void LanguageHead::backward_input(Stream& stream, const Tensor& x, const HeadActivations& act) {
  const std::int64_t h = config_.hidden_size;
  const Tensor& d_ln_f = act.ln_f;
  tensor_group_.all_reduce(stream, d_ln_f, comm::ReduceOp::sum);
  kernels_.layernorm_backward(stream, {x,
                                       act.ln_f_mean,
                                       act.ln_f_rstd,
                                       gamma_,
                                       d_ln_f,
                                       {},
                                       x,
                                       act.d_norm.part(0, {h}),
                                       act.d_norm.part(h, {h})});
}

void LanguageHead::backward_weight(Stream& stream, const HeadActivations& act, bool accumulate) {
  const std::int64_t h = config_.hidden_size;
  accumulate_vector(kernels_, stream, act.d_norm.part(0, {h}), d_gamma_, accumulate);
  accumulate_vector(kernels_, stream, act.d_norm.part(h, {h}), d_beta_, accumulate);
}

void LanguageHead::logits(Stream& stream, const Tensor& x, const HeadActivations& act,
                          const HeadScratch& scratch) {
  normalise(stream, x, act);
  kernels_.matmul(stream, {act.ln_f, wte_, scratch.logits, false, true, {}, false});
}

void LanguageHead::normalise(Stream& stream, const Tensor& x, const HeadActivations& act) {
  kernels_.layernorm_forward(
      stream, {x, gamma_, beta_, act.ln_f, act.ln_f_mean, act.ln_f_rstd, GptConfig::kLayerNormEpsilon});
}

}  // namespace tenax::model
