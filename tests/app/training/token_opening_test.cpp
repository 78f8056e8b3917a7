#include "app/training/token_opening.hpp"

#include "tests/comm/thread_ranks.hpp"
#include "tests/io/tokenizer/bpe_fixture.hpp"

namespace tenax::app {
namespace {

using Tokens = std::vector<std::int32_t>;

/// Some MiB of words of many lengths, so that chunks end anywhere.
std::string long_text(std::size_t bytes) {
  std::string text;
  for (std::uint32_t i = 1; text.size() < bytes; i = i * 1664525U + 1013904223U)
    text += std::string(i >> 29, 'a') + (i % 7 == 0 ? "<|endoftext|>" : " the");
  return text;
}

io::Deck deck_of(const io::test::SmallVocabulary& vocabulary) {
  io::Deck deck;
  deck.model.seq_length = 16;
  deck.model.vocab_size = 263;
  deck.data.tokenizer = "gpt2";
  deck.data.vocab_dir = vocabulary.folder().path().string();
  return deck;
}

Tokens all_of(const io::TokenFile& file) {
  Tokens tokens(static_cast<std::size_t>(file.size()));
  file.read(0, tokens);
  return tokens;
}

TEST(OpenedTogether, a_text_has_the_tokens_of_the_whole_on_every_rank_of_any_number) {
  const io::test::TemporaryFolder folder;
  const io::test::SmallVocabulary vocabulary;
  const std::string text = long_text(std::size_t{7} << 19);  // 3.5 chunks
  const std::string file = folder.write("a.txt", text).string();
  const Tokens expected = io::encode(*vocabulary.tokenizer(), text);
  for (const int ranks : {1, 2, 3, 5})
    comm::run_ranks(ranks, 60, [&](comm::World& world) {
      const auto opened = open_together(*world.control_group(), file, deck_of(vocabulary));
      EXPECT_TRUE(all_of(*opened) == expected) << "rank " << world.rank() << " of " << ranks;
    });
}

TEST(OpenedTogether, what_one_rank_finds_wrong_is_thrown_on_all) {
  const io::test::TemporaryFolder folder;
  const io::test::SmallVocabulary vocabulary;
  for (const auto& [name, text] :
       {std::pair{"short.txt", "too few"}, {"empty.txt", ""}, {"absent.txt", nullptr}}) {
    if (text) folder.write(name, text);
    comm::run_ranks(2, 60, [&, name = name](comm::World& world) {
      const auto control = world.control_group();
      EXPECT_THROW(open_together(*control, (folder.path() / name).string(), deck_of(vocabulary)),
                   comm::AgreedError)
          << name;
    });
  }
}

TEST(OpenedTogether, one_rank_without_the_vocabulary_is_enough_to_end_all) {
  const io::test::TemporaryFolder folder;
  const io::test::SmallVocabulary vocabulary;
  const std::string file = folder.write("a.txt", long_text(1000)).string();
  comm::run_ranks(2, 60, [&](comm::World& world) {
    io::Deck deck = deck_of(vocabulary);
    if (world.rank() == 1) deck.data.vocab_dir = "/nowhere";
    const auto control = world.control_group();
    EXPECT_THROW(open_together(*control, file, deck), comm::AgreedError);
  });
}

}  // namespace
}  // namespace tenax::app
