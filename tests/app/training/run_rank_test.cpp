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

}  // namespace
}  // namespace tenax::app
