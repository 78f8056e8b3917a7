// GptDecoder: a whole GPT that continues a text token by token. Forward passes alone, with a cache:
// each block keeps the queries, keys and values of the positions seen, so that a new token costs
// one row of every product.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "model/whole_gpt.hpp"

namespace tenax::model {

/// One thread at a time.
class GptDecoder {
 public:
  /// `alone`: a group of one rank. All must outlive the decoder.
  GptDecoder(const GptConfig& config, comm::Communicator& alone, kernels::Device& device,
             kernels::Stream& stream);

  ParameterTable& parameters() { return gpt_.parameters; }
  /// `weights`: flat, laid out as parameters() says.
  void bind(const kernels::Tensor& weights) { gpt_.bind(weights); }

  std::int64_t length() const { return length_; }  ///< positions in the cache, at most seq_length
  /// Forgets what it has seen and reads a text of 1 to seq_length tokens.
  void start(std::span<const std::int32_t> tokens);
  /// Forgets the positions from `length` on.
  void rewind(std::int64_t length);
  /// Reads one more token. length() must be in [1, seq_length).
  void append(std::int32_t token);
  /// What may follow the token read last, [vocab_size]. Valid until the next one is read. Throws
  /// Error(rank) at the deadline.
  std::span<const float> logits(kernels::Deadline deadline);

 private:
  kernels::Tensor cache_of_layer(std::size_t layer) const;
  void read(std::span<const std::int32_t> tokens);

  kernels::Device& device_;
  kernels::Stream& stream_;
  WholeGpt gpt_;
  std::unique_ptr<kernels::Buffer> cache_, activations_;  // [layers, T, 3H]; one pass of T rows
  std::unique_ptr<kernels::Buffer> tokens_, token_staging_, logit_staging_;
  std::unique_ptr<kernels::Event> tokens_copied_;
  kernels::Tensor logits_;  // [1, padded vocabulary]
  std::int64_t length_ = 0;
};

}  // namespace tenax::model
