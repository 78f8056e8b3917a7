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

/// GPT-2's separator of documents: one token of its own wherever these bytes stand in a text.
inline constexpr std::string_view kEndOfText = "<|endoftext|>";

/// Encodes texts, and remembers words from one to the next. One thread at a time.
class TextEncoder {
 public:
  virtual ~TextEncoder() = default;
  /// Appends the tokens of `text`, any bytes.
  virtual void encode(std::string_view text, std::vector<std::int32_t>& tokens) = 0;
};

/// Immutable; may be used from several threads. decode(encode(x)) = x for every string of bytes x.
class Tokenizer {
 public:
  /// "bytes", or "gpt2" with the folder that holds its encoder.json and vocab.bpe. Throws Error(usage) for another
  /// name or no folder, Error(rank) for files that are missing or damaged.
  static std::unique_ptr<Tokenizer> create(const std::string& name, const std::filesystem::path& vocab_dir);
  virtual ~Tokenizer() = default;

  virtual std::string name() const = 0;
  virtual std::int64_t vocab_size() const = 0;
  /// What a token in [0, vocab_size) stands for; not UTF-8 by itself.
  virtual std::string_view bytes_of(std::int32_t token) const = 0;
  /// The token of kEndOfText, if there is one.
  virtual std::optional<std::int32_t> end_of_text() const = 0;
  /// Must not outlive the tokenizer.
  virtual std::unique_ptr<TextEncoder> create_encoder() const = 0;
  /// The length of the longest part of `text` that may be encoded apart from what follows, whatever that is; 0: none.
  virtual std::size_t last_cut(std::string_view text) const = 0;
};

/// Of a vocabulary, wherever it comes from: the checksum (io/checksum.hpp, 16 hexadecimal digits) of its tokens in order,
/// each as its length in bytes (uint32, little-endian) and its bytes.
std::string vocabulary_checksum(std::span<const std::string> bytes_of_token);
/// Of the tokenizer's vocabulary; empty for "bytes", which has but one.
std::string vocabulary_checksum(const Tokenizer& tokenizer);

/// For single texts.
std::vector<std::int32_t> encode(const Tokenizer& tokenizer, std::string_view text);
/// Throws Error(rank) for a token that the vocabulary lacks.
std::string decode(const Tokenizer& tokenizer, std::span<const std::int32_t> tokens);

}  // namespace tenax::io
