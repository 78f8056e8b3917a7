// The sizes of a GPT-2 and what follows from them alone.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/tensor.hpp"

namespace tenax::model {

/// GPT-2 as Hugging Face defines it: learned positions, pre-LayerNorm, biases everywhere,
/// tanh-approximated GELU, tied embedding and head. Letters: H hidden_size, V vocab_size,
/// T seq_length.
struct GptConfig {
  std::int64_t num_layers = 0;
  std::int64_t hidden_size = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t ffn_hidden_size = 0;
  std::int64_t seq_length = 0;
  std::int64_t vocab_size = 0;
  kernels::DType compute_dtype = kernels::DType::f32;
  /// LayerNorms and GELUs are computed again in the backward pass instead of kept: 10 instead of 16
  /// values of [rows, H] a block and live microbatch (ffn 4 H). Then both parts of a backward pass
  /// run together, block by block.
  bool recomputes = false;
  /// Rows of a microbatch whose logits exist at a time, at most (language_head.hpp).
  std::int64_t logit_rows = 256;

  static constexpr double kLayerNormEpsilon = 1e-5;

  std::int64_t head_size() const { return hidden_size / num_attention_heads; }
  /// The vocabulary as `tensor_size` equal shards of a multiple of 64 rows each (what matrix
  /// units like).
  std::int64_t padded_vocab_size(int tensor_size) const;
  std::int64_t block_parameters() const;
  std::int64_t parameters() const;  ///< in the whole model, the tied embedding counted once

  /// Training FLOP per token, the one definition used in banner, plan and report: 6·(parameters
  /// without position embedding) + 12·layers·H·T, attention not halved for causality.
  double flop_per_token() const;
};

/// The consecutive blocks [first_layer, end_layer) of one pipeline stage.
struct StageSpan {
  std::int64_t first_layer = 0, end_layer = 0;
  bool has_embedding = false;  ///< the first stage
  bool has_head = false;       ///< the last stage
};

}  // namespace tenax::model
