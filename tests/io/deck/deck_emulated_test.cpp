// Decks of the emulated device.
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::io::test {
namespace {

TEST(EmulatedDeck, needs_neither_model_nor_data_nor_optimizer) {
  const Deck deck =
      deck_of(kEmulatedDeck, {"parallel.pipeline_parallel_size=4", "parallel.tensor_parallel_size=2"});
  EXPECT_TRUE(deck.data.train.empty());
  EXPECT_TRUE(deck.model.is_placeholder);
  EXPECT_EQ(deck.model.num_layers, 4);
  EXPECT_EQ(deck.model.num_attention_heads, 2);
  EXPECT_EQ(deck.model.hidden_size % deck.model.num_attention_heads, 0);
  EXPECT_EQ(deck.device.activation_bytes, 0);
  EXPECT_EQ(deck.device.forward_ms, std::vector<double>{10.0});
}

TEST(EmulatedDeck, saves_no_checkpoint_whatever_its_interval) {
  EXPECT_EQ(deck_of(kEmulatedDeck).checkpoint.interval, -1);
  EXPECT_EQ(deck_of(kEmulatedDeck, {"checkpoint.interval=5"}).checkpoint.interval, -1);
}

TEST(EmulatedDeck, takes_a_whole_model_or_none) {
  const std::string deck = std::string(kEmulatedDeck) +
                           "[model]\nnum_layers = 4\nhidden_size = 64\nnum_attention_heads = 4\n"
                           "seq_length = 32\nvocab_size = 256\n";
  EXPECT_FALSE(deck_of(deck).model.is_placeholder);
  EXPECT_EQ(deck_of(deck).model.ffn_hidden_size, 256);
  EXPECT_EQ(parse_resolved_deck(to_toml(deck_of(deck))).model.vocab_size, 256);
  expect_refused({std::string(kEmulatedDeck) + "[model]\nnum_layers = 4\n",
                  {},
                  "DECK:10:1: model.hidden_size is required, for example hidden_size = 128 in [model]"});
  expect_refused({kEmulatedDeck, {"model.num_layers=4"}, "DECK:1:1: model.hidden_size is required"});
}

TEST(EmulatedDeck, weighs_messages_by_its_model_where_it_has_one_and_does_not_say) {
  const std::vector<std::string> times = {"device.kind=emulated", "device.forward_ms=1",
                                          "device.backward_input_ms=1", "device.backward_weight_ms=1",
                                          "parallel.pipeline_parallel_size=2"};
  const auto with_keys = [&](const std::vector<std::string>& more) {
    std::vector<std::string> overrides = times;
    overrides.insert(overrides.end(), more.begin(), more.end());
    return deck_of(kSmallDeck, overrides).device;
  };
  EXPECT_EQ(with_keys({"batch.micro_batch_size=2"}).activation_bytes, 2 * 32 * 64 * 4);
  EXPECT_EQ(with_keys({"model.compute_dtype=bf16"}).activation_bytes, 32 * 64 * 2);
  EXPECT_EQ(with_keys({"device.activation_bytes=7"}).activation_bytes, 7);
  // 4 blocks of 49 984 parameters, embeddings of 256 + 32 rows, the last LayerNorm; fp32, on two stages.
  EXPECT_EQ(with_keys({}).gradient_bytes, (4 * 49984 + 288 * 64 + 2 * 64) / 2 * 4);
  EXPECT_EQ(with_keys({"device.gradient_bytes=9"}).gradient_bytes, 9);
}

TEST(EmulatedDeck, comes_back_the_same_from_its_resolved_text) {
  const Deck deck = deck_of(
      kEmulatedDeck, {"parallel.pipeline_parallel_size=2", "device.forward_ms=[1, 2.5]",
                      "device.direct_model=shared_channel", "device.send_queue_depth=2",
                      "device.link_gbps=100", "device.activation_bytes=1000000", "device.gradient_bytes=5",
                      "device.copy_ms=0.5", "device.optimizer_ms=3", "device.jitter_percent=2"});
  const std::string text = to_toml(deck);
  EXPECT_EQ(text.find("[model]"), std::string::npos);
  const Deck again = parse_resolved_deck(text);
  EXPECT_EQ(to_toml(again), text);
  EXPECT_TRUE(again.model.is_placeholder);
  EXPECT_EQ(again.model.num_layers, 2);
  EXPECT_EQ(again.device.forward_ms, (std::vector<double>{1, 2.5}));
  EXPECT_EQ(again.device.direct_model.word(), "shared_channel");
  EXPECT_EQ(again.device.link_gbps, 100);
  EXPECT_EQ(again.device.jitter_percent, 2);
}

TEST(EmulatedDeck, may_be_made_of_a_real_one_on_the_command_line) {
  const Deck deck = deck_of(kSmallDeck, {"device.kind=emulated", "device.forward_ms=1",
                                         "device.backward_input_ms=1", "device.backward_weight_ms=1"});
  EXPECT_FALSE(deck.model.is_placeholder);
  EXPECT_EQ(deck.model.hidden_size, 64);
}

std::vector<Mistake> mistakes() {
  return {
      {edited("train_steps = 20", "train_steps = 20\n[device]\nkind = \"emulated\""),
       {},
       "DECK:4:1: device.forward_ms is required for device.kind = \"emulated\", for example forward_ms = "
       "10.0"},
      {kSmallDeck, {"device.kind=emulated"}, "command line: device.kind: device.forward_ms is required"},
      {replaced(kEmulatedDeck, "backward_weight_ms = 10\n", ""),
       {},
       "DECK:6:1: device.backward_weight_ms is required"},
      {replaced(kEmulatedDeck, "forward_ms = 10\n", "forward_ms = [10, 11]\n"),
       {},
       "DECK:7:1: device.forward_ms has 2 entries; it must be one number, or 1, one per stage"},
      {replaced(kEmulatedDeck, "forward_ms = 10\n", "forward_ms = []\n"),
       {},
       "DECK:7:1: device.forward_ms is required"},
      {kEmulatedDeck,
       {"parallel.pipeline_parallel_size=4", "device.backward_input_ms=[1,2,3]"},
       "command line: device.backward_input_ms: device.backward_input_ms has 3 entries; it must be one "
       "number, or 4"},
      {kEmulatedDeck,
       {"device.forward_ms=-1"},
       "command line: device.forward_ms: device.forward_ms = -1 is out of range: it must be at least 0"},
      {kEmulatedDeck,
       {"device.jitter_percent=101"},
       "command line: device.jitter_percent: device.jitter_percent = 101 is out of range: it must be in [0, "
       "100]"},
      {kEmulatedDeck,
       {"device.direct_model=nccl"},
       "command line: device.direct_model: device.direct_model = \"nccl\" is not one of \"send_queue\", "},
      {with("[device]\nforward_ms = [1, 2]\n"),
       {},
       "DECK:16:1: device.forward_ms = [1.0, 2.0] needs device.kind = \"emulated\""},
      {kSmallDeck,
       {"device.send_queue_depth=2"},
       "command line: device.send_queue_depth: device.send_queue_depth = 2 needs device.kind = \"emulated\""},
      {kEmulatedDeck,
       {"device.threads=2"},
       "command line: device.threads: device.threads = 2 needs device.kind = \"auto\" or \"cpu\""},
      {kSmallDeck,
       {"device.kind=cuda", "device.threads=2"},
       "command line: device.threads: device.threads = 2 needs device.kind = \"auto\" or \"cpu\""},
      {kEmulatedDeck, {"device.kind=cpu"}, "DECK:1:1: model.num_layers is required"},
      {replaced(kEmulatedDeck, "global_batch_size = 12\n", ""),
       {},
       "DECK:3:1: batch.global_batch_size is required"},
      {kSmallDeck,
       {"comm.sockets_per_link=1000"},
       "command line: comm.sockets_per_link: comm.sockets_per_link = 1000 is out of range"},
  };
}

class EmulatedDeckMistakes : public testing::TestWithParam<Mistake> {};
TEST_P(EmulatedDeckMistakes, is_one_message_with_its_place_and_status_2) { expect_refused(GetParam()); }
INSTANTIATE_TEST_SUITE_P(emulated, EmulatedDeckMistakes, testing::ValuesIn(mistakes()));

}  // namespace
}  // namespace tenax::io::test
