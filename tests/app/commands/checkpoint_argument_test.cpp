#include "app/commands/checkpoint_arguments.hpp"

#include <atomic>
#include <thread>

#include "io/checkpoint/checkpoint_serial.hpp"
#include "resilience/checkpoint/checkpoint_directory.hpp"
#include "tests/io/checkpoint/checkpoint_fixture.hpp"

namespace tenax::app {
namespace {

namespace fs = std::filesystem;

class CheckpointArgument : public io::DirectoryTest {
 protected:
  CheckpointArgument() { fs::create_directories(directory_ / "checkpoints"); }
  /// A complete checkpoint after `step` steps.
  fs::path write(std::int64_t step) const {
    char name[40];
    std::snprintf(name, sizeof name, "step-%06lld.h5", static_cast<long long>(step));
    io::CheckpointInfo info;
    info.step = step;
    info.model = io::kTinyModel;
    const io::WholeState state(io::kTinyModel);
    io::write_checkpoint(directory_ / "checkpoints" / name, info, state.ranges);
    return directory_ / "checkpoints" / name;
  }
};

TEST_F(CheckpointArgument, that_is_no_folder_is_what_it_is) {
  const std::string sentence = io::error_of([&] { checkpoint_of_argument("absent.h5"); });
  EXPECT_NE(sentence.find("absent.h5: No such file"), std::string::npos) << sentence;
  const io::VerifiedCheckpoint found = checkpoint_of_argument(write(1).string());
  EXPECT_EQ(found.file.path(), directory_ / "checkpoints/step-000001.h5");
  EXPECT_EQ(found.info.step, 1);
}

TEST_F(CheckpointArgument, that_is_a_run_directory_or_its_checkpoints_means_the_newest_complete_one) {
  write(9);
  const fs::path newest = write(10);
  fs::resize_file(write(11), 5000);
  io::write_file(directory_ / "checkpoints/step-000012.h5", "");
  for (const fs::path& folder : {directory_, directory_ / "checkpoints"}) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(checkpoint_of_argument(folder.string()).file.path(), newest);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("takes " + newest.string()), std::string::npos) << said;
    EXPECT_NE(said.find("step-000011.h5 is truncated"), std::string::npos) << said;
  }
}

/// A run that keeps one checkpoint, and writes the next one every few milliseconds.
class BusyRun {
 public:
  explicit BusyRun(fs::path checkpoint)
      : thread_([this, old = std::move(checkpoint)]() mutable {
          for (int step = 100; !ends_; ++step) {
            const fs::path next = resilience::checkpoint_name(old.parent_path(), step);
            fs::create_hard_link(old, next);
            fs::remove(old);
            old = next;
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
          }
        }) {}
  ~BusyRun() {
    ends_ = true;
    thread_.join();
  }
  BusyRun(const BusyRun&) = delete;
  BusyRun& operator=(const BusyRun&) = delete;

 private:
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

TEST_F(CheckpointArgument, that_is_a_folder_is_read_while_its_run_goes_on) {
  const BusyRun run(write(99));
  testing::internal::CaptureStderr();
  for (int i = 0; i < 100; ++i) EXPECT_NO_THROW(checkpoint_of_argument(directory_.string()));
  EXPECT_EQ(testing::internal::GetCapturedStderr().find("passes over"), std::string::npos);
}

TEST_F(CheckpointArgument, that_is_a_folder_without_one_is_refused) {
  const std::string sentence = io::error_of([&] { checkpoint_of_argument(directory_.string()); });
  EXPECT_NE(sentence.find("is a folder without a complete checkpoint"), std::string::npos) << sentence;
}

}  // namespace
}  // namespace tenax::app
