// Tokenizer: text to token numbers and back, byte for byte.

#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenax::io {

/// GPT-2's separator of documents: one token wherever these bytes stand in a text.
inline constexpr std::string_view kEndOfText = "<|endoftext|>";

/// Encodes texts and remembers words from one text to the next. One thread at a time.
class TextEncoder {
 public:
  virtual ~TextEncoder() = default;
  /// Appends the tokens of `text`, any bytes.
  virtual void encode(std::string_view text, std::vector<std::int32_t>& tokens) = 0;
};

/// Immutable; may be used from several threads. decode(encode(x)) = x for every string of bytes x.
class Tokenizer {
 public:
  /// `name` is "bytes", or "gpt2" with the folder of its encoder.json and vocab.bpe. Throws
  /// Error(usage) for another name or no folder, Error(rank) for files that are missing or damaged.
  static std::unique_ptr<Tokenizer> create(const std::string& name, const std::filesystem::path& vocab_dir);
  virtual ~Tokenizer() = default;

  virtual std::string name() const = 0;
  virtual std::int64_t vocab_size() const = 0;
  /// The bytes of a token in [0, vocab_size). They need not be UTF-8.
  virtual std::string_view bytes_of(std::int32_t token) const = 0;
  /// The token of kEndOfText, if the vocabulary has it.
  virtual std::optional<std::int32_t> end_of_text() const = 0;
  /// The encoder must not outlive the tokenizer.
  virtual std::unique_ptr<TextEncoder> create_encoder() const = 0;
  /// The length of the longest part of `text` that may be encoded apart from any continuation; 0 if
  /// there is none.
  virtual std::size_t last_cut(std::string_view text) const = 0;
};

/// The checksum (io/checksum.hpp, 16 hexadecimal digits) of a vocabulary: of its tokens in order,
/// each as its length in bytes (uint32, little-endian) and its bytes.
std::string vocabulary_checksum(std::span<const std::string> bytes_of_token);
/// The same for a tokenizer's vocabulary; empty for "bytes", which has only one.
std::string vocabulary_checksum(const Tokenizer& tokenizer);

/// Encodes a single text.
std::vector<std::int32_t> encode(const Tokenizer& tokenizer, std::string_view text);
/// Decodes tokens. Throws Error(rank) for a token that the vocabulary lacks.
std::string decode(const Tokenizer& tokenizer, std::span<const std::int32_t> tokens);

/// Bytes as tokens 0 to 255. Has no token for kEndOfText: its bytes are tokens like all others.
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
