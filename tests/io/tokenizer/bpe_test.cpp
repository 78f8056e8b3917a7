#include "io/tokenizer/bpe.hpp"

#include <limits>
#include <random>

#include "tests/io/tokenizer/bpe_fixture.hpp"

namespace tenax::io::test {
namespace {

using V = SmallVocabulary;

TEST(Bpe, merges_the_pair_of_lowest_rank_first) {
  const V vocabulary;
  const auto bpe = vocabulary.tokenizer();
  EXPECT_EQ(encode(*bpe, "the"), (Tokens{V::kThe}));
  EXPECT_EQ(encode(*bpe, "a the"), (Tokens{'a', V::kSpaceThe}));
  EXPECT_EQ(encode(*bpe, "th"), (Tokens{V::kTh}));
  EXPECT_EQ(encode(*bpe, "hte"), (Tokens{'h', 't', 'e'}));
}

TEST(Bpe, merges_the_leftmost_of_equal_pairs_first) {
  const V vocabulary;
  const auto bpe = vocabulary.tokenizer();
  EXPECT_EQ(encode(*bpe, "aaa"), (Tokens{V::kAa, 'a'}));
  EXPECT_EQ(encode(*bpe, "aaaaa"), (Tokens{V::kAaaa, 'a'}));
  EXPECT_EQ(encode(*bpe, "aaaaaaa"), (Tokens{V::kAaaa, V::kAa, 'a'}));
}

TEST(Bpe, merges_within_words_only) {
  const V vocabulary;
  EXPECT_EQ(encode(*vocabulary.tokenizer(), "a a\na"), (Tokens{'a', ' ', 'a', '\n', 'a'}));
}

TEST(Bpe, takes_the_separator_for_one_token_wherever_it_stands) {
  const V vocabulary;
  const auto bpe = vocabulary.tokenizer();
  EXPECT_EQ(bpe->end_of_text(), V::kEnd);
  EXPECT_EQ(encode(*bpe, "a<|endoftext|>the"), (Tokens{'a', V::kEnd, V::kThe}));
  EXPECT_EQ(encode(*bpe, "<|endoftext|><|endoftext|>"), (Tokens{V::kEnd, V::kEnd}));
  EXPECT_EQ(encode(*bpe, "<|endoftex|>").size(), 12U);
  EXPECT_EQ(encode(*bpe, "a <|endoftext|>"), (Tokens{'a', ' ', V::kEnd}));
}

TEST(Bpe, gives_back_every_string_of_bytes) {
  const V vocabulary;
  const auto bpe = vocabulary.tokenizer();
  const auto encoder = bpe->create_encoder();
  std::mt19937 random(2);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes;
    for (std::size_t i = random() % 60; i > 0; --i)
      bytes += random() % 2 ? "theaa \xE4\xBD\xA0"[random() % 9] : static_cast<char>(random());
    Tokens tokens;
    encoder->encode(bytes, tokens);
    ASSERT_EQ(decode(*bpe, tokens), bytes);
  }
}

/// The definition, token by token.
Tokens merged_plainly(const BpeMerges& merges, Tokens tokens) {
  while (true) {
    std::size_t best = 0;
    std::uint32_t rank = BpeMerged::kNever;
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      if (merges.find(tokens[i], tokens[i + 1]).rank < rank) {
        rank = merges.find(tokens[i], tokens[i + 1]).rank;
        best = i;
      }
    }
    if (rank == BpeMerged::kNever) return tokens;
    tokens[best] = merges.find(tokens[best], tokens[best + 1]).token;
    tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

TEST(BpeMerges, do_the_same_to_short_words_and_to_long_ones) {
  const V vocabulary({{"a", "b"},
                      {"b", "a"},
                      {"ab", "a"},
                      {"aba", "ab"},
                      {"b", "b"},
                      {"bb", "ab"},
                      {"a", "a"},
                      {"aa", "aa"}});
  const BpeVocabulary read = read_bpe_vocabulary(vocabulary.folder().path());
  const BpeMerges merges(read.merges);
  std::mt19937 random(3);
  for (const std::size_t length : {0U, 1U, 2U, 3U, 10U, 47U, 48U, 49U, 50U, 200U, 1000U}) {
    for (int round = 0; round < 20; ++round) {
      Tokens word = {7, 8};  // before the word: left alone
      for (std::size_t i = 0; i < length; ++i) word.push_back(random() % 3 ? 'a' : 'b');
      Tokens expected = merged_plainly(merges, {word.begin() + 2, word.end()});
      expected.insert(expected.begin(), {7, 8});
      merges.apply(word, 2);
      ASSERT_EQ(word, expected) << length;
    }
  }
}

TEST(Bpe, remembers_words_without_mixing_them_up) {
  const V vocabulary;
  const auto bpe = vocabulary.tokenizer();
  const BpeMerges merges(read_bpe_vocabulary(vocabulary.folder().path()).merges);
  const auto encoder = bpe->create_encoder();
  // More words than are kept, and some that differ only in zero bytes or in their 16th byte.
  std::vector<std::string> words = {"\1", std::string(1, '\0'), std::string(2, '\0'), "the"};
  for (const std::size_t length : {8U, 15U, 16U, 17U})
    for (const char last : {'a', 'b'}) words.push_back(std::string(length - 1, 'a') + last);
  for (std::int64_t i = 0; i < 50000; ++i) {
    std::string word = "the";
    for (std::int64_t digits = i; digits > 0; digits /= 26) word += static_cast<char>('a' + digits % 26);
    words.push_back(word);
  }
  for (int round = 0; round < 2; ++round) {
    for (const std::string& word : words) {
      Tokens tokens;
      encoder->encode(word, tokens);
      ASSERT_EQ(tokens, merged_plainly(merges, encode(*Tokenizer::create("bytes", ""), word))) << word;
    }
  }
}

TEST(Decode, refuses_tokens_that_the_vocabulary_lacks) {
  const V vocabulary;
  const auto bpe = vocabulary.tokenizer();
  for (const std::int32_t token : {-1, 263, std::numeric_limits<std::int32_t>::max()})
    EXPECT_EQ(error_of([&] { decode(*bpe, Tokens{token}); }).second, 1);
}

TEST(ByteTokenizer, has_a_token_for_each_byte_and_no_separator) {
  const auto bytes = Tokenizer::create("bytes", "");
  EXPECT_EQ(bytes->vocab_size(), 256);
  EXPECT_EQ(bytes->end_of_text(), std::nullopt);
  EXPECT_EQ(encode(*bytes, std::string("a\0\xFF", 3)), (Tokens{'a', 0, 255}));
  EXPECT_EQ(decode(*bytes, encode(*bytes, "<|endoftext|>")), "<|endoftext|>");
}

}  // namespace
}  // namespace tenax::io::test
