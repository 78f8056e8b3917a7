// LanguageHead: final LayerNorm, the tied projection onto this rank's vocabulary shard and the
// vocabulary-parallel cross entropy (Megatron). Logits never exist whole: a chunk of rows goes through
// projection, loss and gradients before the next one takes its memory, as in fused linear cross entropy
// (Hsu et al. 2024, "Liger Kernel", section 3).
#pragma once

#include "comm/communicator.hpp"
#include "kernels/kernels.hpp"
#include "model/arena.hpp"
#include "model/embedding.hpp"
#include "model/pipeline_stage.hpp"
#include "model/transformer_block.hpp"

namespace tenax::model {

/// What the head keeps of one microbatch from forward to backward_weight.
struct HeadActivations {
  kernels::Tensor ln_f, ln_f_mean, ln_f_rstd;  // [rows, H], [rows]; a training forward leaves ln_f's gradient
  kernels::Tensor d_norm;                      // [2, H]

  static HeadActivations take(Arena& arena, const GptConfig& config, MicrobatchShape shape);
};

/// Work space of a chunk of rows.
struct HeadScratch {
  kernels::Tensor logits;                 // [chunk, V/t], compute type; they become d_logits
  kernels::Tensor local_max, global_max;  // [chunk], accumulation type
  kernels::Tensor sums;                   // [2, chunk]: Σ exp (then its logarithm), target logit

  static HeadScratch take(Arena& arena, const GptConfig& config, int tensor_size, MicrobatchShape shape);
  HeadScratch first_rows(std::int64_t rows) const;
};

class LanguageHead {
 public:
  /// Adds ln_f and, when `wte_row` is negative (the embedding is on another stage), the tied
  /// copy of wte.
  LanguageHead(const GptConfig& config, int wte_row, comm::Communicator& tensor_group,
               kernels::Kernels& kernels, ParameterTable& table);
  void bind(const ParameterTable& table, const kernels::Tensor& weights, const kernels::Tensor& gradients);

  /// x [rows, H], targets i32 [rows] -> losses [rows], accumulation type, the same on every rank
  /// of the group. Unless `gradients` is none, the gradients of the summed losses with respect to ln_f and
  /// wte are formed, too.
  void forward(kernels::Stream& stream, const kernels::Tensor& x, const kernels::Tensor& targets,
               const HeadActivations& act, const HeadScratch& scratch, const kernels::Tensor& losses,
               ForwardGradients gradients);
  /// x becomes the gradient of the summed losses with respect to x.
  void backward_input(kernels::Stream& stream, const kernels::Tensor& x, const HeadActivations& act);
  /// wte's gradient is there already.
  void backward_weight(kernels::Stream& stream, const HeadActivations& act, bool accumulate);
  /// This rank's logits [1, V/t] of one row x [1, H], for generation, in scratch.logits; act is scratch, too.
  void logits(kernels::Stream& stream, const kernels::Tensor& x, const HeadActivations& act,
              const HeadScratch& scratch);

  bool has_tied_copy() const { return tied_copy_; }
  int wte_row() const { return wte_row_; }
  int first_row() const { return gamma_row_; }
  int end_row() const { return beta_row_ + 1; }

 private:
  void normalise(kernels::Stream& stream, const kernels::Tensor& x, const HeadActivations& act);
  void losses_of(kernels::Stream& stream, const HeadScratch& chunk, const kernels::Tensor& targets,
                 const kernels::Tensor& losses);
  void gradients_of(kernels::Stream& stream, const HeadScratch& chunk, const kernels::Tensor& targets,
                    const kernels::Tensor& ln_f, bool accumulate);

  GptConfig config_;
  comm::Communicator& tensor_group_;
  kernels::Kernels& kernels_;
  int gamma_row_ = 0, beta_row_ = 0, wte_row_ = 0;
  bool tied_copy_ = false;
  std::int64_t vocab_begin_ = 0, valid_columns_ = 0;
  kernels::Tensor gamma_, beta_, wte_, d_gamma_, d_beta_, d_wte_;
};

}  // namespace tenax::model
