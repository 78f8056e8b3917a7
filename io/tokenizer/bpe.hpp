// Bpe: GPT-2's byte-level byte pair encoding, token for token that of OpenAI's tiktoken (encoding
// "gpt2", with <|endoftext|> allowed as a special token).
#pragma once

#include "io/tokenizer/bpe_merges.hpp"
#include "io/tokenizer/bpe_vocabulary.hpp"
#include "io/tokenizer/tokenizer.hpp"

namespace tenax::io {

class Bpe final : public Tokenizer {
 public:
  explicit Bpe(BpeVocabulary vocabulary);

  std::string name() const override { return "gpt2"; }
  std::int64_t vocab_size() const override {
    return static_cast<std::int64_t>(vocabulary_.bytes_of_token.size());
  }
  std::string_view bytes_of(std::int32_t token) const override;
  std::optional<std::int32_t> end_of_text() const override { return vocabulary_.end_of_text; }
  std::unique_ptr<TextEncoder> create_encoder() const override;
  std::size_t last_cut(std::string_view text) const override;

 private:
  BpeVocabulary vocabulary_;
  BpeMerges merges_;
};

}  // namespace tenax::io
