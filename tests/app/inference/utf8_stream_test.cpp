#include "app/inference/token_text.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tenax::app {
namespace {

/// What comes out for each byte, then at the end.
std::vector<std::string> pieces(std::string_view bytes) {
  Utf8Stream stream;
  std::vector<std::string> out;
  for (const char byte : bytes) out.push_back(stream.add({&byte, 1}));
  out.push_back(stream.finish());
  return out;
}

std::string joined(std::string_view bytes) {
  std::string text;
  for (const std::string& piece : pieces(bytes)) text += piece;
  return text;
}

TEST(Utf8Stream, holds_a_character_back_until_it_is_whole) {
  EXPECT_EQ(pieces("aé€😀"), (std::vector<std::string>{"a", "", "é", "", "", "€", "", "", "", "😀", ""}));
}

TEST(Utf8Stream, replaces_what_is_no_utf8_as_python_does) {
  // Each right side: bytes.decode("utf-8", "replace") of the left one.
  EXPECT_EQ(joined("a\xFFz"), "a\uFFFDz");
  EXPECT_EQ(joined("\x80\xBF"), "\uFFFD\uFFFD");                      // continuations alone
  EXPECT_EQ(joined("\xE2\x82z"), "\uFFFDz");                          // cut short, then a character
  EXPECT_EQ(joined("\xE2\x82\xE2\x82\xAC"), "\uFFFD\u20AC");          // cut short, then a lead
  EXPECT_EQ(joined("\xC0\xAF"), "\uFFFD\uFFFD");                      // longer form than needed
  EXPECT_EQ(joined("\xE0\x80\xAF"), "\uFFFD\uFFFD\uFFFD");            // the same in three bytes
  EXPECT_EQ(joined("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");            // a surrogate
  EXPECT_EQ(joined("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");  // beyond U+10FFFF
  EXPECT_EQ(joined("\xF0\x9F\x98"), "\uFFFD");                        // cut short at the end
}

TEST(Utf8Stream, begins_anew_after_its_end) {
  Utf8Stream stream;
  EXPECT_EQ(stream.add("\xE2\x82"), "");
  EXPECT_EQ(stream.finish(), "\uFFFD");
  EXPECT_EQ(stream.add("\xAC"), "\uFFFD");
  EXPECT_EQ(stream.finish(), "");
}

}  // namespace
}  // namespace tenax::app
