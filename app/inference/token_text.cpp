#include "app/inference/token_text.hpp"

#include <cstddef>

namespace tenax::app {

std::string TokenText::add(std::int32_t token) {
  constexpr std::string_view kNotUtf8 = "\xFF";
  if (token == tokenizer_.end_of_text()) return {};
  return stream_.add(token < tokenizer_.vocab_size() ? tokenizer_.bytes_of(token) : kNotUtf8);
}

std::string for_terminal(std::string text) {
  constexpr char kFirstPrintable = ' ', kDelete = '\x7F';
  for (char& c : text)
    if ((c >= 0 && c < kFirstPrintable && c != '\n' && c != '\t') || c == kDelete) c = '?';
  return text;
}

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

struct ByteRange {
  unsigned low, high;
  bool holds(char c) const {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= low && byte <= high;
  }
};

/// Bytes of the character that begins with `lead`; 0 if none does.
std::size_t length_of(char lead) {
  if (ByteRange{0x00, 0x7F}.holds(lead)) return 1;
  if (ByteRange{0xC2, 0xDF}.holds(lead)) return 2;
  if (ByteRange{0xE0, 0xEF}.holds(lead)) return 3;
  return ByteRange{0xF0, 0xF4}.holds(lead) ? 4 : 0;
}

/// The second byte rules out longer forms than needed, surrogates and what is beyond U+10FFFF.
ByteRange second_bytes(char lead) {
  switch (static_cast<unsigned char>(lead)) {
    case 0xE0:
      return {0xA0, 0xBF};
    case 0xED:
      return {0x80, 0x9F};
    case 0xF0:
      return {0x90, 0xBF};
    case 0xF4:
      return {0x80, 0x8F};
    default:
      return {0x80, 0xBF};
  }
}

/// How many bytes at the beginning of `text`, which begins with a lead byte, may belong to one character.
std::size_t matching(std::string_view text, std::size_t length) {
  std::size_t count = 1;
  while (count < length && count < text.size() &&
         (count == 1 ? second_bytes(text[0]) : ByteRange{0x80, 0xBF}).holds(text[count]))
    ++count;
  return count;
}

}  // namespace

std::string Utf8Stream::add(std::string_view bytes) {
  waiting_ += bytes;
  std::string_view rest = waiting_;
  std::string out;
  while (!rest.empty()) {
    const std::size_t length = length_of(rest[0]), count = matching(rest, length);
    if (count < length && count == rest.size()) break;
    out += count == length ? rest.substr(0, count) : kReplacement;
    rest.remove_prefix(count);
  }
  waiting_ = std::string(rest);
  return out;
}

std::string Utf8Stream::finish() {
  const bool torn = !waiting_.empty();
  waiting_.clear();
  return torn ? std::string(kReplacement) : std::string();
}

}  // namespace tenax::app
