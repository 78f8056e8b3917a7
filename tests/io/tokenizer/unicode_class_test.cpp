#include "io/tokenizer/unicode_class.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

namespace tenax::io::test {
namespace {

using enum CharacterClass;

Character first_of(const std::string& text) {
  return decode_character(text.data(), text.data() + text.size());
}

TEST(UnicodeClass, counts_the_letters_numbers_and_spaces_of_unicode_16) {
  std::array<int, 4> count{};
  for (char32_t c = 0; c < 0x110000; ++c) ++count[static_cast<std::size_t>(class_of_code_point(c))];
  EXPECT_EQ(count[static_cast<std::size_t>(letter)], 141028);
  EXPECT_EQ(count[static_cast<std::size_t>(number)], 1911);
  EXPECT_EQ(count[static_cast<std::size_t>(space)], 25);
}

TEST(UnicodeClass, knows_characters_of_many_scripts) {
  for (const char32_t c :
       {U'a', U'Z', U'ß', U'Ω', U'ж', U'א', U'ع', U'क', U'ฉ', U'中', U'か', U'한', U'𝒜', U'ª', U'ʰ'})
    EXPECT_EQ(class_of_code_point(c), letter) << std::hex << static_cast<unsigned>(c);
  for (const char32_t c : {U'0', U'9', U'²', U'½', U'٣', U'Ⅻ', U'〇', U'①', U'𝟘'})
    EXPECT_EQ(class_of_code_point(c), number) << std::hex << static_cast<unsigned>(c);
  for (const char32_t c :
       {U'\t', U'\n', U'\v', U'\f', U'\r', U' ', U'\u0085', U'\u00A0', U'\u1680', U'\u2028', U'\u3000'})
    EXPECT_EQ(class_of_code_point(c), space) << std::hex << static_cast<unsigned>(c);
  for (const char32_t c :
       {U'\0', U'\'', U'_', U'€', U'\u0301', U'\u200B', U'\uFEFF', U'😀', U'\u001C', U'\uE000'})
    EXPECT_EQ(class_of_code_point(c), other) << std::hex << static_cast<unsigned>(c);
}

TEST(UnicodeClass, is_the_same_for_ascii_by_table_and_by_unicode) {
  for (char32_t c = 0; c < 128; ++c)
    EXPECT_EQ(kAsciiClasses[c], class_of_code_point(c)) << static_cast<unsigned>(c);
}

TEST(Character, has_the_length_of_its_utf8) {
  EXPECT_EQ(first_of("a").length, 1);
  EXPECT_EQ(first_of("ß").length, 2);
  EXPECT_EQ(first_of("中").length, 3);
  EXPECT_EQ(first_of("𝒜").length, 4);
}

TEST(Character, that_is_not_valid_utf8_is_one_byte_of_the_class_other) {
  for (const std::string text :
       {"\x80", "\xBF", "\xC3", "\xC0\x80", "\xC1\xBF", "\xC3\x28", "\xE0\x80\x80", "\xE0\x9F\xBF",
        "\xED\xA0\x80", "\xED\xBF\xBF", "\xE4\xBD", "\xF0\x80\x80\x80", "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xF0\x9D\x92"}) {
    EXPECT_EQ(first_of(text).length, 1) << testing::PrintToString(text);
    EXPECT_EQ(first_of(text).kind, other) << testing::PrintToString(text);
  }
}

TEST(Character, is_the_same_read_backwards) {
  const std::string text = "a\xC3ß\x80中\xE4\xBD𝒜\xF0\x9D\x92 \xC2\xA0\xED\xA0\x80z";
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    const Character forwards = decode_character(at, end);
    at += forwards.length;
    const Character backwards = character_before(text.data(), at);
    EXPECT_EQ(backwards.length, forwards.length) << at - text.data();
    EXPECT_EQ(backwards.kind, forwards.kind) << at - text.data();
  }
}

}  // namespace
}  // namespace tenax::io::test
