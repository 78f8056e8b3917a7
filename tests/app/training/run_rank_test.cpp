#include "app/training/run_rank.hpp"

#include <chrono>
#include <string>
#include <thread>

#include "tests/comm/thread_ranks.hpp"
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::app {
namespace {

// As where its part of a checkpoint is on a file server that starts again.
TEST(RunRank, bears_a_rank_that_files_hold_up_for_longer_than_a_peer_may_take) {
  const io::test::TemporaryFolder folder;
  const std::string deck = folder.write("deck.toml", io::test::kSmallDeck).string();
  comm::run_ranks(2, 20, [&](comm::World& world) {
    RunRank rank(world);
    rank.read_deck(deck, {"run.output_dir=" + folder.path().string() + "/run",
                          "parallel.data_parallel_size=2", "comm.deadline_s=0.2"});
    const auto group = rank.patient_group(20);
    const auto usual = world.control_group();
    const auto late = [&] {
      if (world.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(600));
    };
    EXPECT_NO_THROW(group->agree(late));
    if (world.rank() == 0) {
      EXPECT_THROW(usual->agree(late), kernels::Error);
    }
  });
}

TEST(RunRank, refuses_to_begin_where_the_deck_would_be_moved_away_with_an_old_run) {
  const io::test::TemporaryFolder folder;
  const std::string deck = folder.write("mine.toml", io::test::kSmallDeck).string();
  folder.write("events.jsonl", "{}\n");
  const std::vector<std::string> overrides = {"run.output_dir=" + folder.path().string(), "run.resume=never"};
  comm::run_ranks(1, 20, [&](comm::World& world) {
    RunRank rank(world);
    for (const auto& read : {&RunRank::read_deck, &RunRank::read_deck_of_replicas}) {
      const auto [message, status] = io::test::error_of([&] { (rank.*read)(deck, overrides); });
      EXPECT_NE(message.find("what no run wrote: the deck, " + deck), std::string::npos) << message;
      EXPECT_EQ(status, 1);
    }
  });
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 2)
      << "something has changed";
}

}  // namespace
}  // namespace tenax::app
