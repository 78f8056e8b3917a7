// Bytes as tokens 0 to 255.
#pragma once

#include "io/tokenizer/tokenizer.hpp"

namespace tenax::io {

/// Has no token for kEndOfText: its bytes are tokens like all others.
class ByteTokenizer final : public Tokenizer {
 public:
  static constexpr std::int64_t kVocabSize = 256;

  std::string name() const override { return "bytes"; }
  std::int64_t vocab_size() const override { return kVocabSize; }
  std::string_view bytes_of(std::int32_t token) const override;
  std::optional<std::int32_t> end_of_text() const override { return {}; }
  std::unique_ptr<TextEncoder> create_encoder() const override;
  std::size_t last_cut(std::string_view text) const override { return text.size(); }
};

}  // namespace tenax::io
