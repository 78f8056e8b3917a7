// What a model's tokens say, for people: text out of bytes that come in pieces (Utf8Stream), and
// out of tokens (TokenText).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "io/tokenizer/tokenizer.hpp"

namespace tenax::app {

/// Gives back valid UTF-8, each character in one piece: its first bytes wait for the others. Bytes
/// that are no UTF-8 become U+FFFD, one for each longest beginning of a character (Unicode 15,
/// section 3.9, and Python's "replace").
class Utf8Stream {
 public:
  std::string add(std::string_view bytes);
  /// What still waits, as U+FFFD. The stream is then as new.
  std::string finish();

 private:
  std::string waiting_;  // the beginning of a character
};

/// Text of tokens that come one by one: valid UTF-8, each character in one piece. <|endoftext|>
/// says nothing; a token that the tokenizer lacks says U+FFFD.
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
