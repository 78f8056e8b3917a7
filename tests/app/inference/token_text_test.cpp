#include "app/inference/token_text.hpp"

#include <gtest/gtest.h>

#include "io/tokenizer/tokenizer.hpp"

namespace tenax::app {
namespace {

TEST(TokenText, shows_whole_characters_and_a_mark_for_tokens_without_text) {
  const io::ByteTokenizer bytes;
  TokenText text(bytes);
  EXPECT_EQ(text.add('a'), "a");
  EXPECT_EQ(text.add(0xC3), "");
  EXPECT_EQ(text.add(0xA9), "é");
  EXPECT_EQ(text.add(256), "\uFFFD");
  EXPECT_EQ(text.add(50256), "\uFFFD");
  EXPECT_EQ(text.add(0xC3), "");
  EXPECT_EQ(text.finish(), "\uFFFD");
}

TEST(TokenText, keeps_control_characters_from_terminals) {
  EXPECT_EQ(for_terminal("a\x1B[2Jb\r\n\tc\x7F é"), "a?[2Jb?\n\tc? é");
}

}  // namespace
}  // namespace tenax::app
