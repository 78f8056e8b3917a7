#include "app/training/run_state.hpp"

#include <filesystem>
#include <string>
#include <utility>

#include "comm/world.hpp"
#include "tests/io/deck/deck_fixture.hpp"
#include "tests/resilience/checkpoint/small_disk.hpp"

namespace tenax::app {
namespace {

namespace fs = std::filesystem;
using resilience::SmallDisk;

// The disk has room for the first checkpoint once more, but for what the killed run has left of it.
TEST(RunState, takes_what_a_killed_run_left_half_written_for_free_room) {
  constexpr std::int64_t kCheckpointBytes = 12 * 218496;  // of the small deck: weights and two moments
  const io::test::TemporaryFolder folder;
  const fs::path checkpoints = folder.path() / "checkpoints";
  const SmallDisk disk(checkpoints, kCheckpointBytes * 3 / 2);
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs takes root";
  const auto half =
      folder.write("checkpoints/.step-000007.h5.tmp-other-1", std::string(kCheckpointBytes, 'x'));
  const auto world = std::move(comm::create_thread_worlds(1, {.deadline_s = 20}).front());
  RunRank rank(*world);
  rank.read_deck(folder.write("deck.toml", io::test::kSmallDeck),
                 {"run.output_dir=" + folder.path().string() + "/run",
                  "checkpoint.dir=" + checkpoints.string(), "checkpoint.keep=1"});
  const RunState state(rank);
  EXPECT_TRUE(fs::exists(half));
  EXPECT_NO_THROW(state.check_disk());
  EXPECT_FALSE(fs::exists(half));
}

}  // namespace
}  // namespace tenax::app
