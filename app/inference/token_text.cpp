#include "app/inference/token_text.hpp"

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

}  // namespace tenax::app
