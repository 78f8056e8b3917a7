// WholeGpt: a GPT on one rank, for forward passes alone: what continues texts (GptDecoder) and
// scores them (GptScorer).
#pragma once

#include <vector>

#include "comm/communicator.hpp"
#include "kernels/kernels.hpp"
#include "model/embedding.hpp"
#include "model/language_head.hpp"
#include "model/transformer_block.hpp"

namespace tenax::model {

struct WholeGpt {
  /// `alone`: a group of one rank. It and the kernels must outlive the model.
  WholeGpt(const GptConfig& config, comm::Communicator& alone, kernels::Kernels& kernels);
  /// `weights`: flat, of config.compute_dtype, laid out as `parameters` says.
  void bind(const kernels::Tensor& weights);

  GptConfig config;
  ParameterTable parameters;
  VocabularyParallelEmbedding embedding;
  std::vector<TransformerBlock> blocks;
  LanguageHead head;
};

/// Activations of a pass without a backward one: blocks take turns.
struct ForwardPass {
  kernels::Tensor x;  // [rows, H]: a block's input and output
  BlockActivations block;
  BlockScratch scratch;
  HeadActivations head;  // has `head_rows` rows
  HeadScratch head_scratch;

  static ForwardPass take(Arena& arena, const GptConfig& config, MicrobatchShape shape,
                          std::int64_t head_rows);
};

}  // namespace tenax::model
