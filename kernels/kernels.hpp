// The operations of a GPT, one virtual function each, asynchronous on a stream.
//
// A back end must provide the pure functions. The others are fusions: their default composes pure
// ones, and a back end overrides those that it can do faster.
//
// Letters. rows: sequences of the microbatch × T tokens each. H: hidden size. Accumulation type:
// fp64 where the compute type is fp64, else fp32 (accumulation_of).
//
// Rules of every call:
//   - All tensors have the compute type (fp32, bf16 or fp64), unless the comment of the Args struct
//     names another.
//   - Gradients of parameters are added to what is there. With `accumulate` false they overwrite it.
//   - Gradients of activations overwrite.
//   - Two tensors may share memory only where a comment says so.
//   - Results are deterministic: equal inputs give equal bits.
//   - Tensors must outlive the operation, which may run after the call has returned.
//   - Sizes and types are checked by asserts alone.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "kernels/device.hpp"
#include "kernels/tensor.hpp"

namespace tenax::kernels {

/// c[m, n] (+)= op(a)[m, k] · op(b)[k, n] (+ bias[n]). a and b have one type; c the same or its
/// accumulation type.
struct MatmulArgs {
  Tensor a, b, c;
  bool transpose_a = false;  ///< a is stored [k, m]
  bool transpose_b = false;  ///< b is stored [n, k]
  Tensor bias;               ///< optional, [n], compute type
  bool accumulate = false;   ///< c += instead of c =
};

/// y[rows, out] = x[rows, in] · weight[in, out] + bias[out] (bias optional).
struct LinearForwardArgs {
  Tensor x, weight, bias, y;
};
/// pre = x · weight + bias, y = gelu(pre); pre is kept for the backward pass.
struct LinearGeluForwardArgs {
  Tensor x, weight, bias, pre, y;
};
/// d_x[rows, in] = d_y[rows, out] · weightᵀ.
struct LinearBackwardInputArgs {
  Tensor d_y, weight, d_x;
};
/// d_pre = (d_y · weightᵀ) ∘ gelu'(pre). d_pre may be the memory of pre. scratch: [rows, in],
/// compute type.
struct LinearGeluBackwardInputArgs {
  Tensor d_y, weight, pre, d_pre, scratch;
};
/// d_weight[in, out] (+)= xᵀ · d_y, d_bias[out] (+)= column sums of d_y (optional). Gradients:
/// accumulation type.
struct LinearBackwardWeightArgs {
  Tensor x, d_y, d_weight, d_bias;
  bool accumulate = true;
};
/// d_bias[columns] (+)= column sums of d_y.
struct BiasGradientArgs {
  Tensor d_y, d_bias;
  bool accumulate = true;
};

/// y = tanh-approximated GELU of x (Hendrycks & Gimpel 2016; Hugging Face "gelu_new").
struct GeluForwardArgs {
  Tensor x, y;
};
/// d_x = d_y ∘ gelu'(x). d_x may be the memory of x or d_y.
struct GeluBackwardArgs {
  Tensor x, d_y, d_x;
};

/// y = (x − mean) · rstd · gamma + beta over the last axis; mean, rstd [rows] in the accumulation
/// type are kept.
struct LayerNormForwardArgs {
  Tensor x, gamma, beta, y, mean, rstd;
  double epsilon = 1e-5;
};
/// sum = x + delta + bias[H]; then layer norm of sum as above. sum may be the memory of x or delta.
struct ResidualLayerNormForwardArgs {
  Tensor x, delta, bias, sum;
  Tensor gamma, beta, y, mean, rstd;
  double epsilon = 1e-5;
};
/// d_x = d_residual (optional) + gradient of the norm's input. d_x may be the memory of x, d_y or
/// d_residual. d_gamma, d_beta [H], accumulation type: this microbatch's sums, overwritten
/// (backward_weight adds them later).
struct LayerNormBackwardArgs {
  Tensor x, mean, rstd, gamma, d_y, d_residual, d_x, d_gamma, d_beta;
};
/// out = x + delta + bias[H]. out may be the memory of x or delta.
struct ResidualAddArgs {
  Tensor x, delta, bias, out;
};

/// Causal attention. qkv [sequences, T, 3·heads·head_size]: q of all heads, then k, then v, in each
/// row. out [sequences, T, heads·head_size]. log_sum_exp [sequences, heads, T], accumulation type,
/// is kept: the T×T weights never exist for more than a block of rows of one head. Scale
/// 1/sqrt(head_size).
struct AttentionForwardArgs {
  Tensor qkv, out, log_sum_exp;
  int heads = 0;
};
/// d_qkv may be the memory of qkv.
struct AttentionBackwardArgs {
  Tensor qkv, out, d_out, log_sum_exp, d_qkv;
  int heads = 0;
};

/// One new position of a text, for generation: the last row of attention_forward over one sequence.
/// qkv [length, 3·heads·head_size]: the positions so far, the new one last; it is the cache of keys
/// and values. out [1, heads·head_size].
struct AttentionDecodeArgs {
  Tensor qkv, out;
  int heads = 0;
};

/// out[rows, H] = wte[token − vocab_begin] (zero where the token is not in this shard) +
/// wpe[position] (optional). tokens: i32 [sequences, T]. wte: this rank's [V_local, H]. wpe: [≥ T,
/// H] or absent.
struct EmbeddingForwardArgs {
  Tensor tokens, wte, wpe, out;
  std::int64_t vocab_begin = 0;
};
/// d_wte[token − vocab_begin] += d_x for tokens of this shard; d_wpe[position] += d_x (optional).
/// Row order fixed.
struct EmbeddingBackwardArgs {
  Tensor tokens, d_x, d_wte, d_wpe;
  std::int64_t vocab_begin = 0;
};

/// Vocabulary-parallel cross entropy, first part, over this shard's logits [rows, V_local], of
/// which the first `valid_columns` are real and the rest padding. row_max, row_sum (of exp(logit −
/// row_max)) and target_logit (0 where the target is not in this shard): [rows], accumulation type.
/// A shard may have no valid column: then row_max is the lowest finite number and row_sum is 0.
/// targets: i32 [rows], global token numbers.
struct CrossEntropyForwardArgs {
  Tensor logits, targets, row_max, row_sum, target_logit;
  std::int64_t vocab_begin = 0, valid_columns = 0;
};
/// row_sum *= exp(local_max − global_max): run between the maximum's and the sums' all-reduce.
struct CrossEntropyRescaleArgs {
  Tensor local_max, global_max, row_sum;
};
/// log_sum_exp = row_max + log(row_sum) (may be row_sum's memory); losses[rows] = log_sum_exp −
/// target_logit.
struct CrossEntropyLossArgs {
  Tensor row_max, row_sum, target_logit, log_sum_exp, losses;
};
/// d_logits = scale · (exp(logit − log_sum_exp) − [column is target]), padding columns 0. d_logits
/// may be (and usually is) the memory of logits.
struct CrossEntropyBackwardArgs {
  Tensor logits, targets, log_sum_exp, d_logits;
  std::int64_t vocab_begin = 0, valid_columns = 0;
  double scale = 1.0;
};

struct UpdateStep;  // update_coefficients.hpp

/// Elements of the accumulation type that a tensor of coefficients has at least.
inline constexpr std::int64_t kUpdateCoefficients = 16;

/// Forms the coefficients of one update from `step`, which is read when the stream gets there.
/// step: pinned host memory. coefficients: [kUpdateCoefficients], accumulation type, in a form of
/// the back end's own.
struct UpdateCoefficientsArgs {
  const UpdateStep* step = nullptr;
  Tensor coefficients;
};

/// The most moments that an optimizer keeps of a parameter.
inline constexpr int kMaxMoments = 2;

/// n consecutive parameters. master, gradient and moments have [n] elements of the accumulation
/// type; an optimizer leaves the moments that it does not have absent. compute [n] is the copy in
/// the compute type, written in the same pass. It is absent, in all stretches of a call, where
/// master itself is what the model reads.
struct UpdateStretch {
  Tensor master, gradient;
  std::array<Tensor, kMaxMoments> moments;
  Tensor compute;
  bool decays = true;  ///< false: without weight decay
  /// Where `master` begins in a larger whole: draws of stochastic rounding go by it.
  std::int64_t first_element = 0;
};
/// One update of many parameters. The gradient is divided by the step's tokens and clipped to its
/// norm as it is read. Nothing is changed where that norm or a loss is not finite. The stretches
/// are read before the call returns.
struct UpdateArgs {
  std::span<const UpdateStretch> stretches;
  Tensor coefficients;
};

/// *result (host, pinned) = Σ x² over all parts, in fp64 in a fixed order; valid once the stream
/// has passed it. The parts have one type, and are read before the call returns.
struct SumOfSquaresArgs {
  std::span<const Tensor> parts;
  double* result = nullptr;
};

/// result = own + incoming, of a chunk that replicas exchange. own and result: fp32 or fp64, not
/// overlapping; incoming: the same type, or bf16 beside fp32. It may be pinned host memory. What is
/// rounded is rounded to bf16, fp32 alone: the incoming values before the addition, the sums after
/// it.
struct ChunkSumArgs {
  Tensor own, incoming, result;
  bool rounds_incoming = false, rounds_result = false;
};

class Kernels {
 public:
  virtual ~Kernels() = default;

  virtual void matmul(Stream&, const MatmulArgs&) = 0;
  virtual void linear_forward(Stream&, const LinearForwardArgs&);
  virtual void linear_gelu_forward(Stream&, const LinearGeluForwardArgs&);
  virtual void linear_backward_input(Stream&, const LinearBackwardInputArgs&);
  virtual void linear_gelu_backward_input(Stream&, const LinearGeluBackwardInputArgs&);
  virtual void linear_backward_weight(Stream&, const LinearBackwardWeightArgs&);
  virtual void bias_gradient(Stream&, const BiasGradientArgs&) = 0;

  virtual void gelu_forward(Stream&, const GeluForwardArgs&) = 0;
  virtual void gelu_backward(Stream&, const GeluBackwardArgs&) = 0;

  virtual void layernorm_forward(Stream&, const LayerNormForwardArgs&) = 0;
  virtual void residual_layernorm_forward(Stream&, const ResidualLayerNormForwardArgs&);
  virtual void layernorm_backward(Stream&, const LayerNormBackwardArgs&) = 0;
  virtual void residual_add(Stream&, const ResidualAddArgs&) = 0;

  virtual void attention_forward(Stream&, const AttentionForwardArgs&) = 0;
  virtual void attention_backward(Stream&, const AttentionBackwardArgs&) = 0;
  /// Throws Error(operation) on a device without data.
  virtual void attention_decode(Stream&, const AttentionDecodeArgs&);

  virtual void embedding_forward(Stream&, const EmbeddingForwardArgs&) = 0;
  virtual void embedding_backward(Stream&, const EmbeddingBackwardArgs&) = 0;

  virtual void cross_entropy_forward(Stream&, const CrossEntropyForwardArgs&) = 0;
  virtual void cross_entropy_rescale(Stream&, const CrossEntropyRescaleArgs&) = 0;
  virtual void cross_entropy_loss(Stream&, const CrossEntropyLossArgs&) = 0;
  virtual void cross_entropy_backward(Stream&, const CrossEntropyBackwardArgs&) = 0;

  virtual void update_coefficients(Stream&, const UpdateCoefficientsArgs&) = 0;
  /// torch.optim.AdamW: decoupled decay, bias correction, epsilon outside the root. Moments:
  /// exp_avg, exp_avg_sq.
  virtual void adamw(Stream&, const UpdateArgs&) = 0;
  /// Lion (Chen et al. 2023, "Symbolic Discovery of Optimization Algorithms", algorithm 2), where
  /// sign(0) is 0. Moment: exp_avg.
  virtual void lion(Stream&, const UpdateArgs&) = 0;
  virtual void sum_of_squares(Stream&, const SumOfSquaresArgs&) = 0;

  /// Element by element: destination = 0; = source (same type); = source (any of f32, bf16, f64 to any);
  /// += source; = max(destination, source).
  virtual void zero(Stream&, Tensor destination) = 0;
  virtual void copy(Stream&, Tensor source, Tensor destination) = 0;
  virtual void cast(Stream&, Tensor source, Tensor destination) = 0;
  virtual void add(Stream&, Tensor source, Tensor destination) = 0;
  virtual void maximum(Stream&, Tensor source, Tensor destination) = 0;

  /// Leaves most of the device to the passes that run beside it.
  virtual void chunk_sum(Stream&, const ChunkSumArgs&) = 0;
};

}  // namespace tenax::kernels
