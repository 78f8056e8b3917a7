#include "io/tokenizer/unicode_class.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

namespace tenax::io {
namespace {

constexpr char32_t kCodePoints = 0x110000;
constexpr Character kInvalidByte{CharacterClass::other, 1};

constexpr std::uint32_t kRuns[] = {
#include "io/unicode_class_table.inc"
};

/// A byte for each code point: texts touch few of the table's pages.
std::vector<CharacterClass> expand() {
  std::vector<CharacterClass> classes(kCodePoints);
  for (std::size_t run = 0; run < std::size(kRuns); ++run) {
    const std::uint32_t end = run + 1 < std::size(kRuns) ? kRuns[run + 1] / 4 : kCodePoints;
    std::fill(classes.begin() + kRuns[run] / 4, classes.begin() + end,
              static_cast<CharacterClass>(kRuns[run] % 4));
  }
  return classes;
}

int length_by_lead(unsigned lead) {
  if (lead >= 0xC2 && lead < 0xE0) return 2;
  if (lead >= 0xE0 && lead < 0xF0) return 3;
  if (lead >= 0xF0 && lead < 0xF5) return 4;
  return 0;
}

bool is_encodable(char32_t code_point, int length) {
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code_point >= 0xD800 && code_point < 0xE000;
  return code_point >= kLeast[length] && code_point < kCodePoints && !is_surrogate;
}

}  // namespace

CharacterClass class_of_code_point(char32_t code_point) {
  static const std::vector<CharacterClass> classes = expand();
  return classes[code_point];
}

Character decode_character(const char* at, const char* end) {
  const auto lead = static_cast<unsigned char>(*at);
  if (lead < kAsciiClasses.size()) return {kAsciiClasses[lead], 1};
  const int length = length_by_lead(lead);
  if (length == 0 || end - at < length) return kInvalidByte;
  char32_t code_point = lead & (0xFFU >> (length + 1));
  for (int i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(at[i]);
    if ((byte & 0xC0U) != 0x80U) return kInvalidByte;
    code_point = code_point << 6 | (byte & 0x3FU);
  }
  if (!is_encodable(code_point, length)) return kInvalidByte;
  return {class_of_code_point(code_point), length};
}

Character character_before(const char* begin, const char* at) {
  // No valid sequence holds the lead byte of another, so one that ends here is what a reader from `begin` finds.
  for (int length = 2; length <= 4 && length <= at - begin; ++length) {
    const Character character = character_at(at - length, at);
    if (character.length == length) return character;
  }
  return character_at(at - 1, at);
}

}  // namespace tenax::io
