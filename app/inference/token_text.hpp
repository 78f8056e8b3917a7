// TokenText: what a model's tokens say, for people.
#pragma once

#include <cstdint>
#include <string>

#include "app/inference/utf8_stream.hpp"
#include "io/tokenizer/tokenizer.hpp"

namespace tenax::app {

/// Text of tokens that come one by one: valid UTF-8, each character in one piece. <|endoftext|> says nothing; a token
/// that the tokenizer lacks says U+FFFD.
class TokenText {
 public:
  /// The tokenizer must outlive it.
  explicit TokenText(const io::Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
  std::string add(std::int32_t token);
  /// What still waits for the rest of a character.
  std::string finish() { return stream_.finish(); }

 private:
  const io::Tokenizer& tokenizer_;
  Utf8Stream stream_;
};

/// With '?' for control characters, which would disturb a terminal, but line ends and tabs.
std::string for_terminal(std::string text);

}  // namespace tenax::app
