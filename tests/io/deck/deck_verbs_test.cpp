// RDMA in decks.
#include <tuple>

#include "io/deck/verbs_device.hpp"
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::io::test {
namespace {

TEST(VerbsDeck, has_the_contracts_defaults) {
  const VerbsSection verbs = deck_of_overrides({}).verbs;
  EXPECT_TRUE(verbs.devices.empty());
  EXPECT_EQ(verbs.gid_index, -1);
  EXPECT_EQ(verbs.silence_ms, 1000);
  EXPECT_EQ(verbs.ring_kib, 1024);
  EXPECT_EQ(verbs.service_level, 0);
  EXPECT_EQ(verbs.traffic_class, 0);
  EXPECT_EQ(verbs.gpu_direct, GpuDirect::automatic);
}

TEST(VerbsDeck, takes_both_ends_of_each_range_without_a_deck) {
  const VerbsSection low =
      deck_of_overrides({"verbs.gid_index=0", "verbs.silence_ms=50", "verbs.ring_kib=64"}).verbs;
  EXPECT_EQ(low.gid_index, 0);
  EXPECT_EQ(low.silence_ms, 50);
  EXPECT_EQ(low.ring_kib, 64);
  const Deck high = deck_of_overrides(
      {"verbs.gid_index=255", "verbs.silence_ms=60000", "verbs.ring_kib=65536", "verbs.service_level=15",
       "verbs.traffic_class=255", "verbs.gpu_direct=off", "verbs.devices=[mlx5_0, mlx5_1:1@0]"});
  EXPECT_EQ(high.verbs.service_level, 15);
  EXPECT_EQ(high.verbs.gpu_direct, GpuDirect::off);
  EXPECT_EQ(high.verbs.devices, (std::vector<std::string>{"mlx5_0", "mlx5_1:1@0"}));
}

struct Refusal {
  std::string override_text, message;
};

class VerbsMistake : public testing::TestWithParam<Refusal> {};

TEST_P(VerbsMistake, is_one_message_with_status_2) {
  const auto [message, status] = error_of([&] { deck_of_overrides({GetParam().override_text}); });
  EXPECT_EQ(message, "command line: " + GetParam().message);
  EXPECT_EQ(status, 2);
}

INSTANTIATE_TEST_SUITE_P(
    Values, VerbsMistake,
    testing::Values(
        Refusal{"verbs.gid_index=256",
                "verbs.gid_index: verbs.gid_index = 256 is out of range: it must be in [-1, 255]"},
        Refusal{"verbs.gid_index=-2",
                "verbs.gid_index: verbs.gid_index = -2 is out of range: it must be in [-1, 255]"},
        Refusal{"verbs.silence_ms=49",
                "verbs.silence_ms: verbs.silence_ms = 49 is out of range: it must be in [50, 60000]"},
        Refusal{"verbs.silence_ms=60001",
                "verbs.silence_ms: verbs.silence_ms = 60001 is out of range: it must be in [50, 60000]"},
        Refusal{"verbs.ring_kib=60",
                "verbs.ring_kib: verbs.ring_kib = 60 is out of range: it must be in [64, 65536]"},
        Refusal{"verbs.ring_kib=66",
                "verbs.ring_kib: verbs.ring_kib = 66 is not a multiple of 4, the size of a page"},
        Refusal{"verbs.service_level=16",
                "verbs.service_level: verbs.service_level = 16 is out of range: it must be in [0, 15]"},
        Refusal{"verbs.traffic_class=256",
                "verbs.traffic_class: verbs.traffic_class = 256 is out of range: it must be in [0, 255]"},
        Refusal{
            "verbs.devices=[mlx5_0:0]",
            "verbs.devices: verbs.devices names \"mlx5_0:0\", which is not \"NAME\" or \"NAME:PORT\", with "
            "\"@N\" behind it for one rank"},
        Refusal{"verbs.devices=[a, b, a]", "verbs.devices: verbs.devices names \"a\" twice"},
        Refusal{"verbs.device=a", "verbs.device: unknown key verbs.device; did you mean verbs.devices?"},
        Refusal{"verbs.foo=1", "verbs.foo: unknown key verbs.foo; did you mean verbs.devices?"}));

TEST(VerbsDeck, is_a_runs_transport_between_replicas_too) {
  const TemporaryFolder folder;
  const Deck deck = read_deck(
      folder.write("d.toml", with("[verbs]\nsilence_ms = 500\n")),
      {"comm.transport=verbs", "verbs.devices=[mlx5_0]", "parallel.replicas=2", "batch.global_batch_size=8"});
  EXPECT_EQ(deck.comm.transport, TransportKind::verbs);
  EXPECT_EQ(deck.verbs.silence_ms, 500);
}

TEST(VerbsDeck, may_state_defaults_and_comes_back_the_same) {
  const TemporaryFolder folder;
  const Deck deck = read_deck(folder.write("d.toml", with("[verbs]\nring_kib = 1024\n")), {});
  const std::string text = to_toml(deck);
  EXPECT_NE(text.find("\n[verbs]\ndevices = []\n"), std::string::npos);
  EXPECT_EQ(to_toml(parse_resolved_deck(text)), text);
}

TEST(VerbsDevice, is_a_name_with_a_port_and_a_rank_or_without) {
  EXPECT_EQ(verbs_device("mlx5_0"), (VerbsDevice{"mlx5_0", 0, -1}));
  EXPECT_EQ(verbs_device("mlx5_0:2"), (VerbsDevice{"mlx5_0", 2, -1}));
  EXPECT_EQ(verbs_device("rxe-a.1@0"), (VerbsDevice{"rxe-a.1", 0, 0}));
  EXPECT_EQ(verbs_device("mlx5_0:255@65535"), (VerbsDevice{"mlx5_0", 255, 65535}));
}

TEST(VerbsDevice, is_nothing_else) {
  for (const char* text :
       {"", ":1", "@1", "a:", "a@", "a:0", "a:256", "a:-1", "a:+1", "a:1x", "a@-1", "a@65536", "a@1:1", "a b",
        "a/b", "a:1:2", "a@1@2", "a:99999999999999999999", "\xc3\xa4"})
    EXPECT_FALSE(verbs_device(text)) << text;
}

}  // namespace
}  // namespace tenax::io::test
