#include "io/text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace tenax::io {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD", kEllipsis = "\xE2\x80\xA6";

unsigned byte_at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

/// Of the well-formed sequence `text`.
unsigned code_point(std::string_view text) {
  constexpr std::array<unsigned, 5> kLeadBits = {0, 0x7F, 0x1F, 0x0F, 0x07};
  unsigned code = byte_at(text, 0) & kLeadBits[text.size()];
  for (std::size_t i = 1; i < text.size(); ++i) code = code << 6 | (byte_at(text, i) & 0x3FU);
  return code;
}

std::string printed(const char* pattern, unsigned value) {
  std::array<char, 32> text{};
  return {text.data(), static_cast<std::size_t>(std::snprintf(text.data(), text.size(), pattern, value))};
}

std::string escaped(std::string_view control) {
  if (control == "\n") return "\\n";
  if (control == "\r") return "\\r";
  if (control == "\t") return "\\t";
  return printed("\\u%04x", code_point(control));
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  const unsigned lead = byte_at(text, 0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte_at(text, i) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates and what lies beyond U+10FFFF show in the second byte.
  const unsigned second = byte_at(text, 1);
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool no_character = (lead == 0xED && second > 0x9F) || (lead == 0xF4 && second > 0x8F);
  return overlong || no_character ? 0 : length;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

std::size_t control_length(std::string_view text) {
  const unsigned lead = byte_at(text, 0);
  if (lead < 0x20 || lead == 0x7F) return 1;
  return lead == 0xC2 && text.size() > 1 && byte_at(text, 1) >= 0x80 && byte_at(text, 1) < 0xA0 ? 2 : 0;
}

std::string character_name(std::string_view text) {
  const std::size_t length = utf8_length(text);
  return length == 0 ? printed("the byte 0x%02x", byte_at(text, 0))
                     : printed("U+%04X", code_point(text.substr(0, length)));
}

std::string excerpt(std::string_view text, std::size_t most) {
  const std::string cut = std::string(kEllipsis) + " (" + std::to_string(text.size()) + " bytes)";
  const std::size_t room = most > cut.size() ? most - cut.size() : 0;
  std::string shown;
  std::size_t fitting = 0;  // so much of `shown` leaves room to say that it is cut
  while (!text.empty() && shown.size() <= most) {
    const std::size_t control = control_length(text), length = control > 0 ? control : utf8_length(text);
    if (control > 0)
      shown += escaped(text.substr(0, control));
    else
      shown += length == 0 ? kReplacement : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
    if (shown.size() <= room) fitting = shown.size();
  }
  return shown.size() <= most ? shown : shown.substr(0, fitting) + cut;
}

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
