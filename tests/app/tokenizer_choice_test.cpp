#include "app/tokenizer_choice.hpp"

#include <gtest/gtest.h>

#include "io/deck.hpp"

namespace tenax::app {
namespace {

using Strings = std::vector<std::string>;

TokenizerChoice choice(const Strings& options, const std::string& deck) {
  io::CheckpointInfo info;
  info.deck = deck;
  return choose_tokenizer({{"generate", {"tokenizer", "vocab"}, {}, 0, 0}, options}, info);
}

std::string deck(const Strings& overrides) {
  return io::to_toml(io::read_deck(TENAX_SOURCE_DIR "/tests/golden/golden.toml", overrides));
}

void expect(const TokenizerChoice& got, const std::string& name, const std::string& vocab_dir,
            bool is_known) {
  EXPECT_EQ(got.name, name);
  EXPECT_EQ(got.vocab_dir, vocab_dir);
  EXPECT_EQ(got.is_known, is_known);
}

TEST(TokenizerChoice, an_option_comes_before_the_deck) {
  const std::string gpt2 = deck({"data.tokenizer=gpt2", "data.vocab_dir=/deck"});
  expect(choice({"--tokenizer", "bytes"}, gpt2), "bytes", "", true);
  expect(choice({"--vocab", "/option"}, gpt2), "gpt2", "/option", true);
  expect(choice({"--vocab", "/option"}, ""), "gpt2", "/option", true);
  expect(choice({"--tokenizer", "gpt2"}, gpt2), "gpt2", "/deck", true);
}

TEST(TokenizerChoice, without_options_it_is_the_decks) {
  expect(choice({}, deck({"data.tokenizer=gpt2", "data.vocab_dir=/deck"})), "gpt2", "/deck", true);
  expect(choice({}, deck({"data.train=/a.txt"})), "bytes", "", true);
}

TEST(TokenizerChoice, bytes_are_a_guess_where_the_deck_trains_on_token_numbers_or_is_absent) {
  expect(choice({}, deck({})), "bytes", "", false);
  expect(choice({}, ""), "bytes", "", false);
}

}  // namespace
}  // namespace tenax::app
