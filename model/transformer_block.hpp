// TransformerBlock: one pre-LayerNorm GPT-2 block on one rank of a tensor group, with a
// split backward.
//
// Megatron's tensor parallelism (Shoeybi et al. 2019, §3): c_attn and c_fc are column-parallel,
// both c_proj row-parallel, heads are split; one all-reduce after each c_proj in the forward pass
// and one before each LayerNorm in the backward pass. Activations at block boundaries are the same
// on every rank of the group.
#pragma once

#include "comm/communicator.hpp"
#include "kernels/kernels.hpp"
#include "model/arena.hpp"
#include "model/gpt_config.hpp"
#include "model/parameter_table.hpp"

namespace tenax::model {

/// rows of one microbatch: sequences × length.
struct MicrobatchShape {
  std::int64_t sequences = 0, length = 0;
  std::int64_t rows() const { return sequences * length; }
};

/// What one block keeps of one microbatch from forward to the end of backward_weight. Each gradient
/// takes the memory of an activation that is dead by then, so the split of the backward pass costs
/// no memory: backward_input turns qkv into d_qkv, x_mid into d_mid, fc into d_fc; x_in and x_out
/// belong to the stage and become d_in and d_out.
///
/// Where the config recomputes, ln_1, ln_2 and gelu are the scratch's: they hold what the last
/// forward() or recompute() of any block left there.
struct BlockActivations {
  kernels::Tensor x_in, x_out;                 // [rows, H]; views, x_out is the next block's x_in
  kernels::Tensor ln_1, ln_1_mean, ln_1_rstd;  // [rows, H], [rows]
  kernels::Tensor qkv;                         // [rows, 3H/t]
  kernels::Tensor attention, log_sum_exp;      // [rows, H/t], [sequences, heads/t, T]
  kernels::Tensor x_mid;                       // [rows, H]
  kernels::Tensor ln_2, ln_2_mean, ln_2_rstd;  // [rows, H], [rows]
  kernels::Tensor fc, gelu;                    // [rows, F/t]
  kernels::Tensor d_norms;  // [4, H]: this microbatch's d_gamma, d_beta of ln_1, then of ln_2

  static BlockActivations take(Arena& arena, const GptConfig& config, int tensor_size, MicrobatchShape shape);
};

/// Work space shared by the blocks of a stage; contents live only within a call.
struct BlockScratch {
  kernels::Tensor
      residual;  // [rows, H]: what a row-parallel linear adds to the residual stream; d of a LayerNorm
  kernels::Tensor attention;  // [rows, H/t]
  kernels::Tensor ffn;        // [rows, F/t]; then d_qkv [rows, 3H/t] of backward(), if that is no wider
  kernels::Tensor ln_1, ln_2, gelu;  // as in BlockActivations; absent where those are kept

  static BlockScratch take(Arena& arena, const GptConfig& config, int tensor_size, MicrobatchShape shape);
};

/// destination (+)= source: how a microbatch's saved vector joins a parameter's gradient.
void accumulate_vector(kernels::Kernels& kernels, kernels::Stream& stream, const kernels::Tensor& source,
                       const kernels::Tensor& destination, bool accumulate);

class TransformerBlock {
 public:
  /// Adds its rows to `table`. The communicator and kernels must outlive the block.
  TransformerBlock(const GptConfig& config, std::int64_t layer, comm::Communicator& tensor_group,
                   kernels::Kernels& kernels, ParameterTable& table);

  /// Points the block at the flat buffers: weights (compute type), gradients (accumulation type).
  void bind(const ParameterTable& table, const kernels::Tensor& weights, const kernels::Tensor& gradients);

  void forward(kernels::Stream& stream, MicrobatchShape shape, const BlockActivations& act,
               const BlockScratch& scratch);
  /// One new position of a sequence, on a group of one rank. `cache` [positions, 3H]: their qkv as
  /// forward() and decode() left it, with act.qkv as its last row; `act` of one row.
  void decode(kernels::Stream& stream, const kernels::Tensor& cache, const BlockActivations& act,
              const BlockScratch& scratch);
  /// Brings back ln_1, ln_2 and gelu, before backward_input changes what they are made of.
  void recompute(kernels::Stream& stream, const BlockActivations& act);
  /// act.x_out holds d_out; afterwards act.x_in holds d_in.
  void backward_input(kernels::Stream& stream, MicrobatchShape shape, const BlockActivations& act,
                      const BlockScratch& scratch);
  void backward_weight(kernels::Stream& stream, const BlockActivations& act, bool accumulate);
  /// Both, where one follows the other: d_qkv then lives in the scratch, if that has room for it, and no device has
  /// to write it over qkv.
  void backward(kernels::Stream& stream, MicrobatchShape shape, const BlockActivations& act,
                const BlockScratch& scratch, bool accumulate);
  /// Whether the scratch of backward() has room for d_qkv; else that takes the place of qkv.
  static bool has_room_for_d_qkv(const GptConfig& config) {
    return config.ffn_hidden_size >= 3 * config.hidden_size;
  }

  int first_row() const { return ln_1_.gamma_row; }
  int end_row() const { return mlp_c_proj_.bias_row + 1; }

 private:
  struct Norm {
    int gamma_row = 0, beta_row = 0;
    kernels::Tensor gamma, beta, d_gamma, d_beta;
  };
  struct Linear {
    int weight_row = 0, bias_row = 0;
    kernels::Tensor weight, bias, d_weight, d_bias;
  };
  enum class Split { columns, rows };

  void project_qkv(kernels::Stream& stream, const BlockActivations& act);
  /// All that follows attention.
  void finish_forward(kernels::Stream& stream, const BlockActivations& act, const BlockScratch& scratch);
  void input_gradients(kernels::Stream& stream, MicrobatchShape shape, const BlockActivations& act,
                       const BlockScratch& scratch, const kernels::Tensor& d_qkv);
  void weight_gradients(kernels::Stream& stream, const BlockActivations& act, const kernels::Tensor& d_qkv,
                        bool accumulate);
  int local_heads() const { return static_cast<int>(config_.num_attention_heads) / tensor_group_.size(); }

  Norm add_norm(ParameterTable& table, const std::string& name) const;
  Linear add_linear(ParameterTable& table, const std::string& name, std::int64_t in, std::int64_t out,
                    Split split, int sections) const;
  void add_norm_gradient(kernels::Stream& stream, const Norm& norm, const kernels::Tensor& d_gamma_beta,
                         bool accumulate);
  void linear_gradient(kernels::Stream& stream, const Linear& linear, const kernels::Tensor& x,
                       const kernels::Tensor& d_y, bool accumulate);

  GptConfig config_;
  comm::Communicator& tensor_group_;
  kernels::Kernels& kernels_;
  Norm ln_1_, ln_2_;
  Linear attn_c_attn_, attn_c_proj_, mlp_c_fc_, mlp_c_proj_;
};

}  // namespace tenax::model
