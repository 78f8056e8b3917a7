// A vocabulary of 256 bytes, some merges and <|endoftext|>, as GPT-2's files spell it.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "io/json.hpp"
#include "io/tokenizer/tokenizer.hpp"
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::io::test {

using Tokens = std::vector<std::int32_t>;

/// A byte as encoder.json and vocab.bpe write it.
inline std::string spelled(unsigned char byte) {
  const auto is_printable = [](unsigned b) {
    return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
  };
  unsigned code_point = byte;
  if (!is_printable(byte)) {
    code_point = 256;
    for (unsigned other = 0; other < byte; ++other) code_point += is_printable(other) ? 0 : 1;
  }
  if (code_point < 128) return {static_cast<char>(code_point)};
  return {static_cast<char>(0xC0U | code_point >> 6), static_cast<char>(0x80U | (code_point & 63U))};
}

inline std::string spelled(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) text += spelled(static_cast<unsigned char>(byte));
  return text;
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// "th", "he", …: tokens from 256 on, in this order. 'a'+'a' merges with itself.
inline const Pairs kPairs = {{"t", "h"},   {"a", "a"},   {"th", "e"},
                             {" ", "the"}, {"aa", "aa"}, {"\xE4", "\xBD"}};

/// Bytes have their own numbers, the merged follow, <|endoftext|> is the last.
inline std::string encoder_json(const Pairs& pairs) {
  std::string json = "{";
  int number = 0;
  const auto add = [&](const std::string& bytes) {
    json += (number > 0 ? ", " : "") + json_string(spelled(bytes)) + ": " + std::to_string(number);
    ++number;
  };
  for (int byte = 0; byte < 256; ++byte) add(std::string(1, static_cast<char>(byte)));
  for (const auto& [left, right] : pairs) add(left + right);
  add(std::string(kEndOfText));
  return json + "}";
}

inline std::string vocab_bpe(const Pairs& pairs) {
  std::string text = "#version: 0.2\n";
  for (const auto& [left, right] : pairs) text += spelled(left) + " " + spelled(right) + "\n";
  return text;
}

class SmallVocabulary {
 public:
  explicit SmallVocabulary(const Pairs& pairs = kPairs) {
    folder_.write("encoder.json", encoder_json(pairs));
    folder_.write("vocab.bpe", vocab_bpe(pairs));
  }
  const TemporaryFolder& folder() const { return folder_; }
  std::unique_ptr<Tokenizer> tokenizer() const { return Tokenizer::create("gpt2", folder_.path()); }
  static constexpr std::int32_t kTh = 256, kAa = 257, kThe = 258, kSpaceThe = 259, kAaaa = 260, kEnd = 262;

 private:
  TemporaryFolder folder_;
};

}  // namespace tenax::io::test
