// Decks that are no TOML, or that would end the program instead of being refused.
// What unknown names are answered with.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "io/deck/deck_suggest.hpp"
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::io::test {
namespace {

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

const std::string kOutside = " stands outside of quotes and comments, where only ASCII may";

class DeckSyntax : public testing::TestWithParam<Mistake> {};
TEST_P(DeckSyntax, is_refused_in_one_message_with_its_place_and_status_2) { expect_refused(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    beyond_ascii, DeckSyntax,
    testing::Values(
        Mistake{
            with("[device]\nbackward_inpu\u0481_ms = 4.7\n"), {}, "DECK:16:14: not TOML: U+0481" + kOutside},
        Mistake{edited("lr = 1e-3", "lr = \"\u0481\" \u0481"), {}, "DECK:14:10: not TOML: U+0481" + kOutside},
        Mistake{edited("\"text.txt\"", "'\\' \u0481"), {}, "DECK:10:13: not TOML: U+0481" + kOutside},
        Mistake{edited("\"text.txt\"", "\"\"\"a\"\"\"\"\" \u0481 \"\"\""),
                {},
                "DECK:10:19: not TOML: U+0481" + kOutside},
        Mistake{"\xFF\xFE[\0r\0", {}, "DECK:1:1: not TOML: the byte 0xff" + kOutside},
        Mistake{kSmallDeck, {"data.train=[{\u0481 = 1}]"}, "command line: data.train: "}));

INSTANTIATE_TEST_SUITE_P(
    nested, DeckSyntax,
    testing::Values(
        Mistake{repeated("a.", 100'000) + "a = 1\n", {}, "DECK:1:66: a key has more than 32 parts"},
        Mistake{"[" + repeated("a.", 100'000) + "a]\n", {}, "DECK:1:67: a key has more than 32 parts"},
        Mistake{"a = " + repeated("[", 100'000), {}, "DECK:1:"},
        Mistake{"a = " + repeated("{b=", 100'000), {}, "DECK:1:"}));

INSTANTIATE_TEST_SUITE_P(
    control_characters, DeckSyntax,
    testing::Values(Mistake{edited("text.txt", "te\\u0000xt.txt"),
                            {},
                            "DECK:10:1: data.train holds the control character U+0000"},
                    Mistake{edited("\"text.txt\"", "[{file = \"a\\u0000.txt\", weight = 1}]"),
                            {},
                            "DECK:10:1: data.train holds the control character U+0000"},
                    Mistake{edited("[run]\n", "[run]\nname = \"a\\u001b[31m\"\n"),
                            {},
                            "DECK:2:1: run.name holds the control character U+001B"},
                    Mistake{edited("[run]\n", "[run]\noutput_dir = \"a\\u009b31m\"\n"),
                            {},
                            "DECK:2:1: run.output_dir holds the control character U+009B"},
                    Mistake{with("[comm]\ninterfaces = [\"lo\\n\"]\n"),
                            {},
                            "DECK:16:1: comm.interfaces holds the control character U+000A"},
                    Mistake{kSmallDeck,
                            {"run.name=a\nb"},
                            "command line: run.name: run.name holds the control character U+000A"}));

TEST(DeckSyntaxAllows, anything_in_comments_and_strings_and_a_byte_order_mark) {
  const TemporaryFolder folder;
  const std::string deck = "\xEF\xBB\xBF# caf\u00e9 \u0481\n" + edited("text.txt", "\u0481.txt") +
                           "[pipeline]\nactivation_limit = [1] # \u0481 'x\n";
  EXPECT_EQ(read_deck(folder.write("d.toml", deck), {}).data.train.front().file,
            (folder.path() / "\u0481.txt").string());
}

TEST(DeckMessages, stay_short_however_long_a_value_or_a_name_is) {
  const TemporaryFolder folder;
  for (const auto& [deck, overrides] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {kSmallDeck, {"data.train=" + std::string(50'000, 'x') + ".csv"}},
           {kSmallDeck, {"run." + std::string(50'000, 'x') + "=1"}},
           {kSmallDeck, {std::string(50'000, 'x')}},
           {edited("train_steps", std::string(50'000, 'x')), {}},
           {edited("= 20", "= \"" + std::string(50'000, 'x') + "\""), {}},
           {with("[" + std::string(50'000, 'x') + "]\n"), {}}}) {
    const auto file = folder.write("d.toml", deck);
    const auto [message, status] = error_of([&, &given = overrides] { read_deck(file, given); });
    EXPECT_LE(message.size(), 4400U) << message.substr(0, 200);
    EXPECT_EQ(status, 2);
  }
}

TEST(DeckFile, of_more_than_a_mebibyte_is_refused_with_status_2) {
  const TemporaryFolder folder;
  const auto file = folder.write("d.toml", "#" + std::string(1 << 20, ' ') + "\n" + kSmallDeck);
  const auto [message, status] = error_of([&] { read_deck(file, {}); });
  EXPECT_EQ(message, file.string() + ": larger than 1 MiB, which no deck is");
  EXPECT_EQ(status, 2);
}

TEST(DeckFile, that_is_a_pipe_or_a_device_is_refused_without_waiting) {
  const TemporaryFolder folder;
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::filesystem::path& file : {pipe, std::filesystem::path("/dev/zero")}) {
    const auto [message, status] = error_of([&] { read_deck(file, {}); });
    EXPECT_EQ(message, file.string() + ": cannot open: it is a pipe, a socket or a device, not a file");
    EXPECT_EQ(status, 2);
  }
}

TEST(EditDistance, counts_insertions_deletions_substitutions_and_swaps) {
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("trian", "train"), 1);
  EXPECT_EQ(edit_distance("same", "same"), 0);
}

TEST(DistanceFromMeant, is_small_where_each_typed_word_begins_a_word_of_the_name) {
  EXPECT_LT(distance_from_meant("num_heads", "num_attention_heads"),
            distance_from_meant("num_heads", "num_layers"));
  EXPECT_EQ(distance_from_meant("seq_len", "seq_length"), 1);
  EXPECT_EQ(distance_from_meant("heads_num", "num_attention_heads"),
            edit_distance("heads_num", "num_attention_heads"));
  EXPECT_EQ(distance_from_meant("", "seed"), 4);
}

TEST(NearestKey, is_the_one_that_was_meant) {
  EXPECT_EQ(nearest_key("model", "num_heads"), "model.num_attention_heads");
  EXPECT_EQ(nearest_key("model", "heads"), "model.num_attention_heads");
  EXPECT_EQ(nearest_key("model", "layers"), "model.num_layers");
  EXPECT_EQ(nearest_key("model", "seq_len"), "model.seq_length");
  EXPECT_EQ(nearest_key("batch", "batch_size"), "batch.global_batch_size");
  EXPECT_EQ(nearest_key("optimizer", "warmup"), "optimizer.lr_warmup_steps");
  EXPECT_EQ(nearest_key("run", "trian_steps"), "run.train_steps");
  EXPECT_EQ(nearest_key("run", "tensor_parallel_size"), "parallel.tensor_parallel_size");
}

TEST(NearestKey, knows_what_other_trainers_call_it) {
  EXPECT_EQ(nearest_key("optimizer", "learning_rate"), "optimizer.lr");
  EXPECT_EQ(nearest_key("model", "n_embd"), "model.hidden_size");
  EXPECT_EQ(nearest_key("model", "block_size"), "model.seq_length");
  EXPECT_EQ(nearest_key("run", "max_iters"), "run.train_steps");
}

TEST(NearestKey, is_not_looked_for_where_the_name_is_longer_than_any) {
  EXPECT_EQ(nearest_key("run", std::string(100'000'000, 'k')), "");
  EXPECT_EQ(nearest_section(std::string(1000, 'k')), "");
  EXPECT_EQ(did_you_mean(""), "");
}

}  // namespace
}  // namespace tenax::io::test
