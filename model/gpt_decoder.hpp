// GptDecoder: a whole GPT that continues a text token by token. Forward passes alone, with a cache: each block keeps
// the queries, keys and values of the positions seen, so that a new token costs one row of every product.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "kernels/kernels.hpp"
#include "model/embedding.hpp"
#include "model/language_head.hpp"
#include "model/transformer_block.hpp"

namespace tenax::model {

/// One thread at a time.
class GptDecoder {
 public:
  /// `alone`: a group of one rank. All must outlive the decoder.
  GptDecoder(const GptConfig& config, comm::Communicator& alone, kernels::Device& device,
             kernels::Stream& stream);

  ParameterTable& parameters() { return table_; }
  /// `weights`: flat, laid out as parameters() says.
  void bind(const kernels::Tensor& weights);

  std::int64_t length() const { return length_; }  ///< positions in the cache, at most config.seq_length
  /// Forgets what it has seen and reads a text of 1 to seq_length tokens.
  void start(std::span<const std::int32_t> tokens);
  /// Forgets the positions from `length` on.
  void rewind(std::int64_t length);
  /// Reads one more token. length() must be in [1, seq_length).
  void append(std::int32_t token);
  /// What may follow the token read last, [vocab_size]. Valid until the next one is read. Throws Error(rank) at the
  /// deadline.
  std::span<const float> logits(kernels::Deadline deadline);

 private:
  /// Activations of one pass; blocks take turns.
  struct Pass {
    kernels::Tensor x;  // [rows, H]: a block's input and output
    BlockActivations block;
    BlockScratch scratch;
    HeadActivations head;  // of the last row
  };
  static Pass take_pass(Arena& arena, const GptConfig& config, std::int64_t rows);
  kernels::Tensor cache_of_layer(std::size_t layer) const;
  void read(std::span<const std::int32_t> tokens);

  GptConfig config_;
  kernels::Device& device_;
  kernels::Stream& stream_;
  ParameterTable table_;
  VocabularyParallelEmbedding embedding_;
  std::vector<TransformerBlock> blocks_;
  LanguageHead head_;
  std::unique_ptr<kernels::Buffer> cache_, activations_;  // [layers, T, 3H]; one Pass of T rows
  std::unique_ptr<kernels::Buffer> tokens_, token_staging_, logit_staging_;
  std::unique_ptr<kernels::Event> tokens_copied_;
  kernels::Tensor logits_;  // [1, padded vocabulary]
  std::int64_t length_ = 0;
};

}  // namespace tenax::model
