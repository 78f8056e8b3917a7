#include "resilience/checkpoint/checkpoint_restore.hpp"

#include "io/checkpoint/checkpoint_serial.hpp"
#include "tests/io/checkpoint/checkpoint_fixture.hpp"
#include "tests/resilience/checkpoint/lone_group.hpp"

namespace tenax::resilience {
namespace {

class CheckpointRestore : public io::DirectoryTest {};

// Who waits for another rank does so for no longer than that one reads between two messages. A round has two.
TEST_F(CheckpointRestore, of_a_large_file_has_a_round_for_each_16_MiB) {
  constexpr io::ModelSizes kLarge = {1, 96, 1, 4, 2, 60000};
  constexpr std::int64_t kRoundBytes = std::int64_t{16} << 20;
  const io::WholeState state(kLarge);
  io::CheckpointInfo info;
  info.model = kLarge;
  const auto file = directory_ / "large.h5";
  io::write_checkpoint(file, info, state.ranges);
  const auto rounds = static_cast<std::int64_t>(std::filesystem::file_size(file)) / kRoundBytes;
  ASSERT_GE(rounds, 4);
  int messages = 0;
  LoneGroup group([&] { ++messages; });
  CheckpointReader reader(group, file);
  EXPECT_GE(messages, 2 * rounds);
  messages = 0;
  reader.read(state.ranges);
  EXPECT_GE(messages, 2 * rounds);
}

}  // namespace
}  // namespace tenax::resilience
