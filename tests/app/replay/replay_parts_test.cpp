// The parts of tenax replay that need no run.
#include <gtest/gtest.h>

#include <unistd.h>

#include "app/replay/replay_deck.hpp"
#include "app/replay/replay_hosts.hpp"
#include "kernels/error.hpp"
#include "tests/app/small_deck.hpp"

namespace tenax::app {
namespace {

using Hosts = std::vector<HostSlots>;

TEST(ReplayHosts, are_nobodys_without_a_list) {
  EXPECT_TRUE(replay_hosts("", 8)[0].empty());
  EXPECT_TRUE(replay_hosts("", 8)[1].empty());
}

TEST(ReplayHosts, of_one_have_both_runs_and_of_two_one_each) {
  EXPECT_EQ(replay_hosts("alpha", 4), (ReplayHosts{Hosts{{"alpha", 4}}, Hosts{{"alpha", 4}}}));
  EXPECT_EQ(replay_hosts("alpha,beta", 4), (ReplayHosts{Hosts{{"alpha", 4}}, Hosts{{"beta", 4}}}));
}

TEST(ReplayHosts, of_more_are_halved_and_share_the_ranks) {
  EXPECT_EQ(replay_hosts("a,b,c,d", 5), (ReplayHosts{Hosts{{"a", 3}, {"b", 2}}, Hosts{{"c", 3}, {"d", 2}}}));
  EXPECT_EQ(replay_hosts("a:4,b:1,c:8,d:8", 5), (ReplayHosts{Hosts{{"a", 4}, {"b", 1}}, Hosts{{"c", 5}}}));
}

TEST(ReplayHosts, that_make_no_sense_are_a_mistake_of_the_command_line) {
  for (const char* on :
       {"a,b,c", "-oProxyCommand=x", "a b", "a:0", "a:x", ",", "a,,b", "a:1", "a:8,b:1", "$(x)"}) {
    try {
      replay_hosts(on, 4);
      ADD_FAILURE() << on;
    } catch (const kernels::Error& error) {
      EXPECT_EQ(error.exit_status(), 2) << on;
      EXPECT_NE(std::string(error.what()).find("--on"), std::string::npos) << error.what();
    }
  }
}

io::Deck written_deck() {
  io::Deck deck = small_deck(2, 2, 2);
  deck.run.name = "original";
  deck.run.train_steps = 1000;
  deck.run.eval_interval = 10;
  deck.run.output_dir = "/runs/original";
  deck.optimizer.lr = 1e-3;
  deck.optimizer.lr_decay_steps = 1000;
  deck.data.train = {{.file = "/data/train.bin"}};
  deck.data.validation = {{.file = "/data/validation.bin"}};
  deck.checkpoint.dir = "/runs/original/checkpoints";
  deck.parallel.replicas = 3;
  deck.replicas.hosts = {"a", "b", "c"};
  deck.device.deterministic = false;
  return deck;
}

io::CheckpointInfo info_of(const io::Deck& deck) {
  io::CheckpointInfo info;
  info.step = 500;
  info.deck = io::to_toml(deck);
  return info;
}

TEST(ReplayDeck, goes_on_from_the_checkpoint_in_a_folder_of_its_own) {
  const io::CheckpointInfo info = info_of(written_deck());
  const io::Deck deck =
      replay_deck(written_deck(), "/runs/original/checkpoints/step-000500.h5", info, 7, "/tmp/x");
  EXPECT_EQ(deck.run.resume, "/runs/original/checkpoints/step-000500.h5");
  EXPECT_EQ(deck.run.train_steps, 507);
  EXPECT_EQ(deck.optimizer.lr_decay_steps, 1000);
  EXPECT_TRUE(deck.device.deterministic);
  EXPECT_EQ(deck.parallel.replicas, 1);
  EXPECT_EQ(deck.parallel.ranks(), 8);
  EXPECT_EQ(deck.checkpoint.interval, -1);
  const std::string text = io::to_toml(deck);
  EXPECT_EQ(text.find("/runs/original\""), std::string::npos) << text;
  EXPECT_EQ(text.find("validation.bin"), std::string::npos) << text;
  EXPECT_EQ(io::to_toml(io::parse_resolved_deck(text)), text);
}

TEST(ReplayDeck, injects_none_of_the_runs_faults_but_flipped_bits) {
  io::Deck before = written_deck();
  before.inject.resize(3);
  before.inject[0].kind = io::FaultKind::process;
  before.inject[0].replica = 0;
  before.inject[1].kind = io::FaultKind::bit_flip;
  before.inject[1].replica = 0;
  before.inject[1].tensor = "wte.weight";
  before.inject[2].kind = io::FaultKind::bit_flip;
  before.inject[2].replica = 2;
  const io::Deck deck = replay_deck(before, "/x.h5", info_of(written_deck()), 1, "/tmp/x");
  ASSERT_EQ(deck.inject.size(), 1U);
  EXPECT_EQ(deck.inject[0].tensor, "wte.weight");
}

class DeckOfCheckpoint : public testing::Test {
 protected:
  DeckOfCheckpoint() { std::filesystem::create_directories(scratch_); }
  ~DeckOfCheckpoint() override { std::filesystem::remove_all(scratch_); }
  io::Deck read(const io::CheckpointInfo& info, const std::vector<std::string>& overrides = {}) {
    return deck_of_checkpoint("x.h5", info, overrides, scratch_);
  }
  std::filesystem::path scratch_ =
      std::filesystem::path(testing::TempDir()) / ("replay-deck." + std::to_string(getpid()));
};

TEST_F(DeckOfCheckpoint, takes_overrides_as_training_does) {
  const io::Deck deck =
      read(info_of(written_deck()), {"replicas.remote_shell=/bin/stub", "data.train=/there.bin"});
  EXPECT_EQ(deck.replicas.remote_shell, "/bin/stub");
  EXPECT_EQ(deck.data.train.front().file, "/there.bin");
  EXPECT_EQ(deck.run.output_dir, "/runs/original");
  EXPECT_EQ(read(info_of(written_deck()), {"data.train=here.bin"}).data.train.front().file,
            std::filesystem::current_path() / "here.bin");
  try {
    read(info_of(written_deck()), {"optimizer.lr=fast"});
    ADD_FAILURE();
  } catch (const kernels::Error& error) {
    EXPECT_EQ(error.exit_status(), 2);
    EXPECT_EQ(std::string(error.what()).find("command line: optimizer.lr"), 0U) << error.what();
  }
}

TEST_F(DeckOfCheckpoint, that_has_none_or_another_versions_is_told_of_the_file) {
  for (const char* text : {"", "[run]\nunknown = 1\n"}) {
    io::CheckpointInfo info;
    info.deck = text;
    try {
      read(info);
      ADD_FAILURE() << text;
    } catch (const kernels::Error& error) {
      EXPECT_EQ(error.exit_status(), 1) << text;
      EXPECT_NE(std::string(error.what()).find("x.h5"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace tenax::app
