#include "resilience/checkpoint/checkpoint_search.hpp"

#include <sys/stat.h>

#include <functional>

#include "io/checkpoint/checkpoint_seal.hpp"
#include "io/checkpoint/checkpoint_serial.hpp"
#include "resilience/checkpoint/checkpoint_directory.hpp"
#include "tests/comm/thread_ranks.hpp"
#include "tests/io/checkpoint/checkpoint_fixture.hpp"

namespace tenax::resilience {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

class CheckpointSearch : public io::DirectoryTest {
 protected:
  fs::path write(std::int64_t step) {
    const io::WholeState state(io::kTinyModel);
    io::CheckpointInfo info;
    info.step = step;
    info.model = io::kTinyModel;
    const fs::path file = checkpoint_name(directory_, step);
    io::write_checkpoint(file, info, state.ranges);
    return file;
  }

  /// The step found by two ranks together, 0 if none; what they pass over goes to passed_over_.
  std::int64_t find(std::int64_t after_step = -1) {
    std::int64_t step = 0;
    comm::run_ranks(2, 20, [&](comm::World& world) {
      const auto group = world.control_group();
      const FoundCheckpoint found = find_checkpoint(*group, directory_, after_step);
      if (world.rank() != 0) {
        EXPECT_TRUE(found.passed_over.empty());
        return;
      }
      if (found.checkpoint) step = found.checkpoint->info().step;
      passed_over_.clear();
      for (const PassedOver& file : found.passed_over) passed_over_.push_back(file.name);
    });
    return step;
  }

  std::string error() {
    std::string sentence;
    comm::run_ranks(2, 20, [&](comm::World& world) {
      const auto group = world.control_group();
      const std::string mine = io::error_of([&] { find_checkpoint(*group, directory_); });
      EXPECT_FALSE(mine.empty()) << "rank " << world.rank();
      if (world.rank() == 0) sentence = mine;
    });
    return sentence;
  }

  /// All ranks say that `file` may be there, and why it cannot be read.
  void expect_unreadable(const fs::path& file, const std::string& reason) {
    comm::run_ranks(2, 20, [&](comm::World& world) {
      const auto group = world.control_group();
      EXPECT_THROW(find_checkpoint(*group, directory_), UnreadableCheckpoint) << "rank " << world.rank();
    });
    const std::string sentence = error();
    for (const std::string& part : Names{"cannot read ", file.string() + ": ", reason, "start again"})
      EXPECT_NE(sentence.find(part), std::string::npos) << sentence;
  }

  Names passed_over_;
};

TEST_F(CheckpointSearch, finds_nothing_where_there_is_nothing) {
  EXPECT_EQ(find(), 0);
  io::write_file(directory_ / "notes.txt", "");
  EXPECT_EQ(find(), 0);
}

TEST_F(CheckpointSearch, takes_the_newest_of_complete_ones) {
  write(9);
  write(20);
  EXPECT_EQ(find(), 20);
  EXPECT_TRUE(passed_over_.empty());
}

TEST_F(CheckpointSearch, passes_over_a_truncated_and_a_damaged_one) {
  write(10);
  const fs::path damaged = write(20), truncated = write(30);
  std::string bytes = io::read_file(damaged);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  io::write_file(damaged, bytes);
  fs::resize_file(truncated, 5000);
  EXPECT_EQ(find(), 10);
  EXPECT_EQ(passed_over_, (Names{"step-000030.h5", "step-000020.h5"}));
}

TEST_F(CheckpointSearch, passes_over_what_only_has_a_checkpoints_name) {
  write(10);
  io::write_file(directory_ / "step-000095.h5", "");
  fs::create_symlink("nowhere", directory_ / "step-000096.h5");
  fs::create_directory(directory_ / "step-000097.h5");
  ASSERT_EQ(mkfifo((directory_ / "step-000098.h5").c_str(), 0600), 0);
  fs::copy(directory_ / "step-000010.h5", directory_ / "step-9223372036854775807.h5");
  EXPECT_EQ(find(), 10);
  EXPECT_EQ(passed_over_, (Names{"step-9223372036854775807.h5", "step-000098.h5", "step-000097.h5",
                                 "step-000096.h5", "step-000095.h5"}));
}

// It may be complete: the steps that it has and an older one lacks would be lost.
TEST_F(CheckpointSearch, takes_none_before_one_that_cannot_be_read) {
  write(10);
  const fs::path newest = directory_ / "step-000030.h5";
  fs::create_symlink(newest.filename(), newest);
  expect_unreadable(newest, "Too many levels of symbolic links");
  fs::resize_file(write(40), 5000);
  expect_unreadable(newest, "Too many levels of symbolic links");
  write(50);
  EXPECT_EQ(find(), 50) << "older ones do not matter";
}

TEST_F(CheckpointSearch, takes_none_before_a_complete_one_that_this_tenax_does_not_know) {
  write(10);
  const fs::path newest = directory_ / "step-000030.h5";
  io::write_file(newest, io::render({.file_bytes = io::kSealBytes, .checksum = 0}));
  expect_unreadable(newest, "");
}

TEST_F(CheckpointSearch, does_not_take_a_directory_that_cannot_be_read_for_an_empty_one) {
  const fs::path whole = directory_;
  directory_ /= "loop";
  fs::create_symlink("loop", directory_);
  expect_unreadable(directory_, "Too many levels of symbolic links");
  fs::remove(directory_);
  EXPECT_EQ(find(), 0) << "there is none";
  directory_ = whole;
}

TEST_F(CheckpointSearch, looks_at_none_but_those_after_a_step) {
  write(10);
  fs::create_symlink("step-000009.h5", directory_ / "step-000009.h5");
  EXPECT_EQ(find(9), 10);
  EXPECT_EQ(find(10), 0);
  EXPECT_TRUE(passed_over_.empty());
}

TEST_F(CheckpointSearch, ends_the_run_where_none_is_complete) {
  for (const std::int64_t step : {10, 20}) fs::resize_file(write(step), 5000);
  const std::string sentence = error();
  EXPECT_TRUE(sentence.starts_with(directory_.string() + " holds 2 checkpoints, but none that is complete (" +
                                   (directory_ / "step-000020.h5").string() + " is truncated"))
      << sentence;
  EXPECT_NE(sentence.find("run.resume=never"), std::string::npos) << sentence;
}

}  // namespace
}  // namespace tenax::resilience
