#include "io/tokenizer/bpe_split.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "io/tokenizer/tokenizer.hpp"
#include "io/tokenizer/unicode_class.hpp"

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
