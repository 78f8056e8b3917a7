#include "io/listing.hpp"

#include <algorithm>

#include "io/utf8.hpp"

namespace tenax::io {

std::string listed(const std::string& label, const std::string& value) {
  constexpr std::size_t kLabel = 20;
  return "  " + padded(label, kLabel) + excerpt(value, kLongestMessage) + "\n";
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 1, width), ' ');
  return text;
}

std::string grouped(std::int64_t value) {
  const std::string digits = std::to_string(value);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

}  // namespace tenax::io
