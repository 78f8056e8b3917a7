#include "io/text.hpp"

#include <gtest/gtest.h>

namespace tenax::io::test {
namespace {

TEST(Excerpt, shows_control_characters_and_bytes_that_are_no_text) {
  EXPECT_EQ(excerpt("plain caf\u00e9 \\ \""), "plain caf\u00e9 \\ \"");
  EXPECT_EQ(excerpt("\x1b[31m\n\t\r\x7f"), "\\u001b[31m\\n\\t\\r\\u007f");
  EXPECT_EQ(excerpt("\xC2\x9B"
                    "31m"),
            "\\u009b31m");
  EXPECT_EQ(excerpt(std::string("a\0b", 3)), "a\\u0000b");
  EXPECT_EQ(excerpt("\xFF\xC3"), "\uFFFD\uFFFD");
}

TEST(Excerpt, is_cut_at_a_character_and_says_so) {
  EXPECT_EQ(excerpt(std::string(200, 'a')), std::string(200, 'a'));
  EXPECT_EQ(excerpt(std::string(201, 'a'), 200), std::string(185, 'a') + "\u2026 (201 bytes)");
  for (std::size_t most = 30; most < 40; ++most) {
    std::string text;
    for (int i = 0; i < 1000; ++i) text += "\u00e9";
    const std::string cut = excerpt(text, most);
    EXPECT_LE(cut.size(), most);
    EXPECT_EQ(cut.find("\u2026 (2000 bytes)") % 2, 0U) << cut;
  }
}

TEST(Utf8, is_text_of_which_every_character_is) {
  EXPECT_TRUE(is_utf8("plain caf\u00e9"));
  EXPECT_TRUE(is_utf8(""));
  EXPECT_FALSE(is_utf8("caf\xE9"));
}

TEST(CharacterName, is_that_of_unicode_or_of_the_byte) {
  EXPECT_EQ(character_name("\u0481x"), "U+0481");
  EXPECT_EQ(character_name("\U0001F600"), "U+1F600");
  EXPECT_EQ(character_name("\xFE"), "the byte 0xfe");
}

}  // namespace
}  // namespace tenax::io::test
