#include "io/tokenizer/bpe_split.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "io/tokenizer/tokenizer.hpp"

namespace tenax::io::test {
namespace {

using Words = std::vector<std::string>;

void append_words(const std::string& text, Words& words) {
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at != end;) {
    const char* const stop = word_end(at, end);
    words.emplace_back(at, stop);
    at = stop;
  }
}

Words words_of(const std::string& text) {
  Words words;
  append_words(text, words);
  return words;
}

struct Split {
  std::string text;
  Words words;
};

class GptSplit : public testing::TestWithParam<Split> {};

TEST_P(GptSplit, is_that_of_openais_expression) { EXPECT_EQ(words_of(GetParam().text), GetParam().words); }

// Checked with Python's regex; bytes that are no UTF-8 decoded with errors="surrogateescape".
INSTANTIATE_TEST_SUITE_P(
    english, GptSplit,
    testing::Values(
        Split{"Hello world", {"Hello", " world"}}, Split{"don't we'll", {"don", "'t", " we", "'ll"}},
        Split{"I'm, they're; I've 'd", {"I", "'m", ",", " they", "'re", ";", " I", "'ve", " '", "d"}},
        Split{"DON'T 'S", {"DON", "'", "T", " '", "S"}}, Split{"it's's''s", {"it", "'s", "'s", "''", "s"}},
        Split{"'r 'v 'l", {"'", "r", " '", "v", " '", "l"}}, Split{"x 12a34", {"x", " 12", "a", "34"}},
        Split{"3.14e-10", {"3", ".", "14", "e", "-", "10"}}, Split{"'", {"'"}}, Split{"a'", {"a", "'"}}));
INSTANTIATE_TEST_SUITE_P(
    spaces, GptSplit,
    testing::Values(Split{"  a", {" ", " a"}}, Split{"   a", {"  ", " a"}}, Split{"a  ", {"a", "  "}},
                    Split{" ", {" "}}, Split{"\n\na", {"\n", "\n", "a"}}, Split{"\n a", {"\n", " a"}},
                    Split{" \na", {" ", "\n", "a"}}, Split{"\n\n\n", {"\n\n\n"}},
                    Split{"a\n\t b", {"a", "\n\t", " b"}}, Split{"a \t1", {"a", " ", "\t", "1"}},
                    Split{"a\u00A0b", {"a", "\u00A0", "b"}}, Split{"a \u3000b", {"a", " ", "\u3000", "b"}},
                    Split{" !?", {" !?"}}, Split{"\x1C", {"\x1C"}}));
INSTANTIATE_TEST_SUITE_P(unicode, GptSplit,
                         testing::Values(Split{"中文 字1", {"中文", " 字", "1"}},
                                         Split{"naïve²", {"naïve", "²"}},
                                         Split{"e\u0301a", {"e", "\u0301", "a"}},
                                         Split{"😀😀 😀a", {"😀😀", " 😀", "a"}}, Split{"½x Ⅻ", {"½", "x", " Ⅻ"}},
                                         Split{"л'т", {"л", "'", "т"}}));
INSTANTIATE_TEST_SUITE_P(no_utf8, GptSplit,
                         testing::Values(Split{"a\xFF\xFE b", {"a", "\xFF\xFE", " b"}},
                                         Split{" \x80\xC3", {" \x80\xC3"}}, Split{"\xE4\xBD", {"\xE4\xBD"}},
                                         Split{"a\xED\xA0\x80z", {"a", "\xED\xA0\x80", "z"}},
                                         Split{"\xC3 \xA0", {"\xC3", " \xA0"}},
                                         Split{std::string("\0\0a", 3), {std::string("\0\0", 2), "a"}}));

/// Texts of what makes splitting hard.
std::string random_text(std::mt19937& random, int pieces) {
  static const Words kPieces = {"a",       "b",    "Z",        "1",      "23",
                                " ",       "  ",   "\n",       "\t",     "'",
                                "'s",      "'re",  "'l",       "!",      "|",
                                "中",      "½",    "\u00A0",   "\u3000", "\xE3",
                                "\x80",    "\xC2", "\xF0\x9F", "😀",      "<|endoftext|>",
                                "<|endof", "|>"};
  std::string text;
  for (int i = 0; i < pieces; ++i) text += kPieces[random() % kPieces.size()];
  return text;
}

TEST(LastCut, leaves_the_words_of_the_whole_on_both_sides) {
  std::mt19937 random(1);
  int cuts = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::string text = random_text(random, 12), more = random_text(random, 12);
    const std::size_t cut = last_cut_between_words(text);
    if (cut == 0) continue;
    ++cuts;
    Words parts;
    append_words((text + more).substr(0, cut), parts);
    append_words((text + more).substr(cut), parts);
    ASSERT_EQ(parts, words_of(text + more)) << testing::PrintToString(text) << " cut at " << cut;
  }
  EXPECT_GT(cuts, 15000);
}

TEST(LastCut, is_never_within_the_separator) {
  const std::string text = "<|endoftext|>";
  for (std::size_t length = 0; length <= text.size(); ++length)
    EXPECT_EQ(last_cut_between_words(text.substr(0, length)), 0U) << length;
}

TEST(LastCut, is_found_in_texts_without_spaces) {
  EXPECT_GT(last_cut_between_words("{\"key\":1,\"other\":22}"), 10U);
  EXPECT_GT(last_cut_between_words("一二三，四五六。七八九，十"), 20U);
}

TEST(LastCut, is_0_where_one_word_goes_on) {
  EXPECT_EQ(last_cut_between_words(std::string(1000, 'a')), 0U);
  EXPECT_EQ(last_cut_between_words(std::string(1000, ' ')), 0U);
  EXPECT_EQ(last_cut_between_words(std::string(1000, '\0')), 0U);
  EXPECT_EQ(last_cut_between_words(""), 0U);
}

}  // namespace
}  // namespace tenax::io::test
