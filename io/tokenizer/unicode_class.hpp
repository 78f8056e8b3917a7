// Classes of characters for OpenAI's splitting rules, and the characters of bytes that need not be
// UTF-8.
#pragma once

#include <array>
#include <cstdint>

namespace tenax::io {

/// Letters are Unicode's general category L, numbers N, space the property White_Space. Unicode
/// 16.0.
enum class CharacterClass : std::uint8_t { other, letter, number, space };

/// code_point < 0x110000.
CharacterClass class_of_code_point(char32_t code_point);

struct Character {
  CharacterClass kind;
  int length;  ///< bytes: 1 to 4
};

/// The first character of [at, end), which is not empty. A byte outside of valid UTF-8 is a
/// character of its own, of class `other`. Overlong forms, surrogates and numbers from 0x110000 are
/// not valid.
Character decode_character(const char* at, const char* end);

/// The last character of [begin, at), which is not empty. Equals the last one when reading from
/// `begin` on.
Character character_before(const char* begin, const char* at);

constexpr std::array<CharacterClass, 128> ascii_classes() {
  std::array<CharacterClass, 128> classes{};
  for (int c = 0; c < 128; ++c) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool is_space = c == ' ' || (c >= '\t' && c <= '\r');
    classes[static_cast<std::size_t>(c)] = is_letter                ? CharacterClass::letter
                                           : (c >= '0' && c <= '9') ? CharacterClass::number
                                           : is_space               ? CharacterClass::space
                                                                    : CharacterClass::other;
  }
  return classes;
}

inline constexpr std::array<CharacterClass, 128> kAsciiClasses = ascii_classes();

/// decode_character, fast where texts are mostly ASCII.
inline Character character_at(const char* at, const char* end) {
  const auto byte = static_cast<unsigned char>(*at);
  if (byte < kAsciiClasses.size()) return {kAsciiClasses[byte], 1};
  return decode_character(at, end);
}

}  // namespace tenax::io
