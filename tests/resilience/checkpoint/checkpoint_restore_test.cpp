#include "resilience/checkpoint/checkpoint_restore.hpp"

#include <fstream>

#include "io/checkpoint/checkpoint_seal.hpp"
#include "io/checkpoint/checkpoint_serial.hpp"
#include "tests/io/checkpoint/checkpoint_fixture.hpp"
#include "tests/resilience/checkpoint/lone_group.hpp"

namespace tenax::resilience {
namespace {

constexpr io::ModelSizes kLarge = {1, 96, 1, 4, 2, 60000};
constexpr std::int64_t kRoundBytes = std::int64_t{16} << 20;  // of a thread

class CheckpointRestore : public io::DirectoryTest {
 protected:
  std::filesystem::path write_large(const io::WholeState& state) {
    io::CheckpointInfo info;
    info.model = kLarge;
    const auto file = directory_ / "large.h5";
    io::write_checkpoint(file, info, state.ranges);
    return file;
  }
};

/// By this process.
bool is_open(const std::filesystem::path& file) {
  for (const auto& descriptor : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code closed;
    if (std::filesystem::read_symlink(descriptor.path(), closed) == file) return true;
  }
  return false;
}

void flip(const std::filesystem::path& file, std::int64_t at) {
  std::fstream bytes(file, std::ios::binary | std::ios::in | std::ios::out);
  bytes.seekg(at);
  const int byte = bytes.get();
  bytes.seekp(at);
  bytes.put(static_cast<char>(byte ^ 1));
}

// A run keeps the reader of what it has resumed from, and removes that file later for the sake of its room.
TEST_F(CheckpointRestore, keeps_no_file_open) {
  constexpr io::ModelSizes kSmall = {1, 8, 1, 4, 2, 60};
  const io::WholeState state(kSmall);
  io::CheckpointInfo info;
  info.model = kSmall;
  const auto file = directory_ / "small.h5";
  io::write_checkpoint(file, info, state.ranges);
  LoneGroup group([] {});
  CheckpointReader reader(group, file);
  EXPECT_FALSE(is_open(file));
  reader.read(state.ranges);
  EXPECT_FALSE(is_open(file));
}

// Who waits for another rank does so for no longer than that one reads between two messages. A round has two.
TEST_F(CheckpointRestore, of_a_large_file_has_a_round_for_each_16_MiB) {
  const io::WholeState state(kLarge);
  const auto file = write_large(state);
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

TEST_F(CheckpointRestore, verifies_by_several_threads_every_byte) {
  const auto file = write_large(io::WholeState(kLarge));
  LoneGroup group([] {});
  std::vector<std::int64_t> looks;
  const Verification by_three{.threads = 3, .look = [&](std::int64_t done, std::int64_t share) {
                                EXPECT_EQ(share + io::kSealBytes,
                                          static_cast<std::int64_t>(std::filesystem::file_size(file)));
                                looks.push_back(done);
                              }};
  EXPECT_NO_THROW(CheckpointReader(group, file, by_three));
  ASSERT_GE(looks.size(), 2U);
  EXPECT_EQ(looks[0], 0);
  EXPECT_EQ(looks[1], 3 * kRoundBytes);
  for (const std::int64_t at : {io::kSealBytes + kRoundBytes - 1, io::kSealBytes + 2 * kRoundBytes,
                                static_cast<std::int64_t>(std::filesystem::file_size(file)) - 1}) {
    flip(file, at);
    EXPECT_THROW(CheckpointReader(group, file, by_three), comm::AgreedUnfitFileError) << at;
    flip(file, at);
  }
}

TEST_F(CheckpointRestore, ends_where_somebody_who_looks_wants_no_more) {
  const auto file = write_large(io::WholeState(kLarge));
  LoneGroup group([] {});
  int looks = 0;
  const Verification ended{.look = [&](std::int64_t, std::int64_t) {
    if (++looks == 2) throw kernels::Error(kernels::Scope::job, "enough");
  }};
  EXPECT_THROW(CheckpointReader(group, file, ended), UnreadableCheckpoint);
  EXPECT_EQ(looks, 2);
}

}  // namespace
}  // namespace tenax::resilience
