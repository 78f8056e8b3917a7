// LanguageHead: final LayerNorm, the tied projection onto this rank's vocabulary shard and the
// vocabulary-parallel cross entropy (Megatron): no rank ever holds full logits.
#pragma once

#include "comm/communicator.hpp"
#include "kernels/kernels.hpp"
#include "model/arena.hpp"
#include "model/embedding.hpp"
#include "model/transformer_block.hpp"

namespace tenax::model {

/// What the head keeps of one microbatch from forward to backward_weight; logits become d_logits.
struct HeadActivations {
  kernels::Tensor ln_f, ln_f_mean, ln_f_rstd;  // [rows, H], [rows]
  kernels::Tensor logits;                      // [rows, V/t]
  kernels::Tensor log_sum_exp;                 // [rows]
  kernels::Tensor d_norm;                      // [2, H]

  static HeadActivations take(Arena& arena, const GptConfig& config, int tensor_size, MicrobatchShape shape);
};

/// Work space of the head: the cross entropy's row statistics, accumulation type.
struct HeadScratch {
  kernels::Tensor local_max, global_max;  // [rows]
  kernels::Tensor sums;                   // [2, rows]: Σ exp, target logit
  kernels::Tensor d_ln_f;                 // [rows, H], compute type

  static HeadScratch take(Arena& arena, const GptConfig& config, MicrobatchShape shape);
};

class LanguageHead {
 public:
  /// Adds ln_f and, when `wte_row` is negative (the embedding is on another stage), the tied
  /// copy of wte.
  LanguageHead(const GptConfig& config, int wte_row, comm::Communicator& tensor_group,
               kernels::Kernels& kernels, ParameterTable& table);
  void bind(const ParameterTable& table, const kernels::Tensor& weights, const kernels::Tensor& gradients);

  /// x [rows, H], targets i32 [rows] -> losses [rows], accumulation type, the same on every rank
  /// of the group.
  void forward(kernels::Stream& stream, const kernels::Tensor& x, const kernels::Tensor& targets,
               const HeadActivations& act, const HeadScratch& scratch, const kernels::Tensor& losses);
  /// x becomes the gradient of the summed losses with respect to x.
  void backward_input(kernels::Stream& stream, const kernels::Tensor& x, const kernels::Tensor& targets,
                      const HeadActivations& act, const HeadScratch& scratch);
  void backward_weight(kernels::Stream& stream, const HeadActivations& act, bool accumulate);
  /// This rank's logits [1, V/t] of one row x [1, H], for generation; act is scratch.
  void logits(kernels::Stream& stream, const kernels::Tensor& x, const HeadActivations& act);

  bool has_tied_copy() const { return tied_copy_; }
  int wte_row() const { return wte_row_; }
  int first_row() const { return gamma_row_; }
  int end_row() const { return beta_row_ + 1; }

 private:
  GptConfig config_;
  comm::Communicator& tensor_group_;
  kernels::Kernels& kernels_;
  int gamma_row_ = 0, beta_row_ = 0, wte_row_ = 0;
  bool tied_copy_ = false;
  std::int64_t vocab_begin_ = 0, valid_columns_ = 0;
  kernels::Tensor gamma_, beta_, wte_, d_gamma_, d_beta_, d_wte_;
};

}  // namespace tenax::model
