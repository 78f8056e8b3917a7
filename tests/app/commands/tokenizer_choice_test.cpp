#include "app/commands/checkpoint_arguments.hpp"

#include "io/deck/deck.hpp"
#include "tests/io/tokenizer/bpe_fixture.hpp"

namespace tenax::app {
namespace {

using io::TokenizerClaim;
using io::test::error_of;
using Strings = std::vector<std::string>;

io::CheckpointInfo info_of(std::int64_t vocab_size, const std::string& deck = "") {
  io::CheckpointInfo info;
  info.model.vocab_size = vocab_size;
  info.deck = deck;
  return info;
}

TokenizerChoice choice(const Strings& options, const TokenizerClaim& checkpoint, std::int64_t vocab_size,
                       const TokenizerClaim& data = {}) {
  return choose_tokenizer({{"generate", {"tokenizer", "vocab"}, {}, 0, 0}, options}, checkpoint,
                          info_of(vocab_size), data);
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

const TokenizerClaim kGpt2 = {"c.h5", "gpt2", ""}, kBytes = {"c.h5", "bytes", ""}, kSilent = {"c.h5", "", ""};

TEST(TokenizerChoice, an_option_comes_before_the_checkpoint) {
  expect(choice({"--tokenizer", "bytes"}, kGpt2, 300), "bytes", "", true);
  expect(choice({"--vocab", "/option"}, kBytes, 256), "gpt2", "/option", true);
  expect(choice({"--vocab", "/option"}, kSilent, 50257), "gpt2", "/option", true);
}

TEST(TokenizerChoice, without_options_it_is_the_checkpoints_with_the_vocabulary_of_its_deck) {
  const CommandLine none({"generate", {"tokenizer", "vocab"}, {}, 0, 0}, {});
  const auto info = info_of(300, deck({"data.tokenizer=gpt2", "data.vocab_dir=/deck"}));
  expect(choose_tokenizer(none, kGpt2, info), "gpt2", "/deck", true);
  expect(choice({}, kBytes, 300), "bytes", "", true);
}

TEST(TokenizerChoice, without_either_it_is_the_token_files) {
  expect(choice({}, kSilent, 300, {"t.h5", "bytes", ""}), "bytes", "", true);
}

TEST(TokenizerChoice, bytes_are_a_guess_for_256_tokens_alone) {
  expect(choice({}, kSilent, 256), "bytes", "", false);
  expect(choice({}, kSilent, 50257), "", "", false);
  const auto [message, status] = error_of([] { choice({}, kSilent, 50257).create(); });
  EXPECT_TRUE(
      message.starts_with("c.h5 does not say what its 50257 tokens stand for: give --tokenizer gpt2 --vocab"))
      << message;
  EXPECT_EQ(status, 1);
}

TEST(TokenizerChoice, refuses_tokens_of_another_tokenizer_naming_both_sides) {
  const TokenizerClaim tokens{"t.h5", "bytes", ""};
  const auto [message, status] = error_of([&] { choice({}, kGpt2, 300, tokens); });
  EXPECT_TRUE(message.starts_with("c.h5 and t.h5 do not go together")) << message;
  EXPECT_EQ(status, 1);
  EXPECT_NE(error_of([&] {
              choice({"--vocab", "/v"}, kBytes, 256, tokens);
            }).first.find("--tokenizer gpt2 and t.h5"),
            std::string::npos);
}

TEST(TokenizerChoice, refuses_another_vocabulary_than_that_of_the_checkpoints_tokens) {
  const io::test::SmallVocabulary vocabulary;
  const std::string folder = vocabulary.folder().path().string();
  const std::string checksum = io::vocabulary_checksum(*vocabulary.tokenizer());
  EXPECT_NO_THROW(choice({"--vocab", folder}, {"c.h5", "gpt2", checksum}, 263).create());
  const auto [message, status] = error_of([&] {
    choice({"--vocab", folder}, {"c.h5", "gpt2", "0123456789abcdef"}, 263).create();
  });
  EXPECT_NE(message.find("another vocabulary"), std::string::npos) << message;
  EXPECT_EQ(status, 1);
}

// Of a later version, say: what it says of the run is unknown, the model is not.
TEST(TokenizerChoice, does_without_a_deck_that_it_cannot_read) {
  const CommandLine none({"generate", {"tokenizer", "vocab"}, {}, 0, 0}, {});
  const auto info = info_of(300, "[of_the_future]\nkey = 1\n");
  const TokenizerChoice chosen = choose_tokenizer(none, kGpt2, info);
  expect(chosen, "gpt2", "", true);
  const auto [message, status] = error_of([&] { chosen.create(); });
  EXPECT_TRUE(message.starts_with("c.h5 does not say where GPT-2's vocabulary is")) << message;
  EXPECT_EQ(status, 1);
}

TEST(TokenizerChoice, names_the_checkpoint_where_only_its_unreadable_deck_says_the_tokenizer) {
  const auto [message, status] =
      error_of([] { io::claim_of_checkpoint("c.h5", info_of(300, "[of_the_future]\nkey = 1\n")); });
  EXPECT_TRUE(message.starts_with("the deck in c.h5: resolved deck:1:")) << message;
  EXPECT_EQ(status, 1);
}

}  // namespace
}  // namespace tenax::app
