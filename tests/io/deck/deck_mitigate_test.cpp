// [mitigate]: what of it is taken, and what refused.
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::io::test {
namespace {

using Mitigations = std::vector<Mitigation>;

Deck again(const Deck& deck) { return parse_resolved_deck(to_toml(deck)); }

TEST(DeckMitigate, allows_what_keeps_every_bit_unless_told_otherwise) {
  const MitigateSection mitigate = deck_of(kSmallDeck).mitigate;
  EXPECT_EQ(mitigate.strategies.values(), (Mitigations{Mitigation::ring, Mitigation::swap}));
  EXPECT_FALSE(mitigate.strategies.has(Mitigation::microbatches));
  EXPECT_EQ(mitigate.restart, RestartElsewhere::never);
  EXPECT_EQ(mitigate.restart_cost_s, 0);
  EXPECT_EQ(mitigate.min_gain, 0.02);
  EXPECT_EQ(mitigate.heal_steps, 8);
}

TEST(DeckMitigate, comes_back_the_same_from_its_resolved_text) {
  const Deck deck =
      deck_of(kSmallDeck, {"mitigate.strategies=[swap, microbatches]", "mitigate.restart=exit",
                           "mitigate.restart_cost_s=30", "mitigate.min_gain=0", "mitigate.heal_steps=1"});
  const MitigateSection mitigate = again(deck).mitigate;
  EXPECT_EQ(mitigate.strategies.values(), (Mitigations{Mitigation::swap, Mitigation::microbatches}));
  EXPECT_EQ(mitigate.restart, RestartElsewhere::exit);
  EXPECT_EQ(mitigate.restart_cost_s, 30);
  EXPECT_EQ(mitigate.min_gain, 0);
  EXPECT_EQ(mitigate.heal_steps, 1);
  EXPECT_TRUE(again(deck_of(kSmallDeck, {"mitigate.strategies=[]"})).mitigate.strategies.empty());
}

TEST(DeckMitigate, does_nothing_where_nothing_is_detected_and_it_did_not_say) {
  const Deck deck = deck_of(kSmallDeck, {"detect.enabled=false"});
  EXPECT_TRUE(deck.mitigate.strategies.empty());
  EXPECT_TRUE(again(deck).mitigate.strategies.empty());
  EXPECT_TRUE(
      deck_of(kSmallDeck, {"detect.enabled=false", "mitigate.strategies=[]"}).mitigate.strategies.empty());
}

TEST(DeckMitigate, moves_twelve_bytes_a_parameter_on_the_emulated_device_unless_it_says) {
  EXPECT_EQ(deck_of(kEmulatedDeck).device.state_bytes, 0);
  EXPECT_EQ(deck_of(kEmulatedDeck, {"device.gradient_bytes=100"}).device.state_bytes, 300);
  EXPECT_EQ(
      again(deck_of(kEmulatedDeck, {"device.gradient_bytes=100", "device.state_bytes=7"})).device.state_bytes,
      7);
  const std::vector<std::string> times = {"device.kind=emulated", "device.forward_ms=1",
                                          "device.backward_input_ms=1", "device.backward_weight_ms=1"};
  const DeviceSection with_model = deck_of(kSmallDeck, times).device;
  EXPECT_EQ(with_model.state_bytes, 3 * with_model.gradient_bytes);
  std::vector<std::string> other_gradients = times;
  other_gradients.emplace_back("device.gradient_bytes=9");
  EXPECT_EQ(deck_of(kSmallDeck, other_gradients).device.state_bytes, with_model.state_bytes);
}

class MitigateMistakes : public testing::TestWithParam<Mistake> {};

TEST_P(MitigateMistakes, are_one_line_with_its_place) { expect_refused(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Deck, MitigateMistakes,
    testing::Values(
        Mistake{
            with("[mitigate]\nstrategies = [\"ring\", \"rings\"]\n"),
            {},
            "DECK:16:1: mitigate.strategies = \"rings\" is not one of \"microbatches\", \"ring\", \"swap\""},
        Mistake{with("[mitigate]\nstrategies = [\"swap\", \"ring\", \"swap\"]\n"),
                {},
                "DECK:16:1: mitigate.strategies names \"swap\" twice"},
        Mistake{with("[mitigate]\nstrategies = \"ring\"\n"),
                {},
                "DECK:16:1: mitigate.strategies must be a list of strings, not the string \"ring\""},
        Mistake{with("[mitigate]\nstrategies = [1]\n"), {}, "DECK:16:1: mitigate.strategies must be a list"},
        Mistake{with("[mitigate]\nrestart = \"always\"\n"),
                {},
                "DECK:16:1: mitigate.restart = \"always\" is not one of \"never\", \"exit\""},
        Mistake{with("[mitigate]\nrestart = \"exit\"\n[parallel]\nreplicas = 2\n"),
                {"batch.global_batch_size=16"},
                "DECK:16:1: mitigate.restart = \"exit\" with parallel.replicas = 2 is not supported by this "
                "version of tenax: "},
        Mistake{with("[detect]\nenabled = false\n[mitigate]\nstrategies = [\"ring\"]\n"),
                {},
                "DECK:18:1: mitigate.strategies is not empty with detect.enabled = false: "},
        Mistake{kSmallDeck,
                {"checkpoint.interval=-1", "mitigate.restart=exit"},
                "command line: mitigate.restart: mitigate.restart = \"exit\" needs checkpoints"},
        Mistake{kSmallDeck,
                {"detect.enabled=false", "mitigate.restart=exit"},
                "command line: mitigate.restart: mitigate.restart = \"exit\" with detect.enabled = false: "},
        Mistake{with("[mitigate]\nrestart_cost_s = -1\n"),
                {},
                "DECK:16:1: mitigate.restart_cost_s = -1 is out of range: it must be at least 0"},
        Mistake{with("[mitigate]\nmin_gain = 1.5\n"),
                {},
                "DECK:16:1: mitigate.min_gain = 1.5 is out of range: it must be in [0, 1]"},
        Mistake{with("[mitigate]\nheal_steps = 0\n"),
                {},
                "DECK:16:1: mitigate.heal_steps = 0 is out of range: it must be at least 1"},
        Mistake{
            kSmallDeck,
            {"device.state_bytes=5"},
            "command line: device.state_bytes: device.state_bytes = 5 needs device.kind = \"emulated\""}));

}  // namespace
}  // namespace tenax::io::test
