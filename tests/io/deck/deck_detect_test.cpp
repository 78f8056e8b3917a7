// [detect]: what of it is taken, and what refused.
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::io::test {
namespace {

TEST(DeckDetect, tests_suspects_where_more_than_one_is_left_unless_told_otherwise) {
  const DetectSection detect = deck_of(kSmallDeck).detect;
  EXPECT_TRUE(detect.enabled);
  EXPECT_EQ(detect.min_change, 0.10);
  EXPECT_EQ(detect.hazard, 250);
  EXPECT_EQ(detect.warmup, 5);
  EXPECT_EQ(detect.suspect, 1.1);
  EXPECT_EQ(detect.validate, Validate::automatic);
  EXPECT_EQ(detect.probe_mb, (std::vector<double>{16, 32, 64}));
  EXPECT_EQ(detect.probe_seconds, 3);
}

TEST(DeckDetect, comes_back_the_same_from_its_resolved_text) {
  const Deck deck = deck_of(kSmallDeck, {"detect.suspect=1.5", "detect.validate=never",
                                         "detect.probe_mb=[0.001, 1024]", "detect.probe_seconds=0.25"});
  const DetectSection again = parse_resolved_deck(to_toml(deck)).detect;
  EXPECT_EQ(again.suspect, 1.5);
  EXPECT_EQ(again.validate, Validate::never);
  EXPECT_EQ(again.probe_mb, (std::vector<double>{0.001, 1024}));
  EXPECT_EQ(again.probe_seconds, 0.25);
  EXPECT_EQ(deck_of(kSmallDeck, {"detect.probe_mb=2"}).detect.probe_mb, std::vector<double>{2});
}

class DetectMistakes : public testing::TestWithParam<Mistake> {};

TEST_P(DetectMistakes, are_one_line_with_its_place) { expect_refused(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Deck, DetectMistakes,
    testing::Values(
        Mistake{with("[detect]\nsuspect = 1\n"),
                {},
                "DECK:16:1: detect.suspect = 1 is out of range: it must be greater than 1"},
        Mistake{with("[detect]\nvalidate = \"sometimes\"\n"),
                {},
                "DECK:16:1: detect.validate = \"sometimes\" is not one of \"auto\", \"always\", \"never\""},
        Mistake{with("[detect]\nenabled = true\nprobe_mb = [16, 0]\n"),
                {},
                "DECK:17:1: detect.probe_mb = 0 is out of range: it must be in [0.001, 1024]"},
        Mistake{with("[detect]\nprobe_mb = 1025\n"), {}, "DECK:16:1: detect.probe_mb = 1025 is out of range"},
        Mistake{with("[detect]\nprobe_mb = []\n"), {}, "DECK:16:1: detect.probe_mb = [] leaves no message"},
        Mistake{kSmallDeck,
                {"detect.probe_seconds=0"},
                "command line: detect.probe_seconds: detect.probe_seconds = 0 is out of range: it must be "
                "greater than 0"}));

}  // namespace
}  // namespace tenax::io::test
