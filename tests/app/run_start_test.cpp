#include "app/run_start.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "kernels/error.hpp"

namespace tenax::app {
namespace {

namespace fs = std::filesystem;

class RunStartTest : public testing::Test {
 protected:
  RunStartTest() {
    directory_ = fs::temp_directory_path() /
                 ("tenax-" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) +
                  "-" + std::to_string(::getpid()));
    fs::create_directories(directory_ / "checkpoints");
    deck_.run.output_dir = directory_;
    deck_.checkpoint.dir = directory_ / "checkpoints";
    deck_.run.train_steps = 20;
    deck_.model.num_layers = 2;
  }
  ~RunStartTest() override { fs::remove_all(directory_); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name) << text;
  }

  fs::path directory_;
  io::Deck deck_;
};

TEST_F(RunStartTest, an_empty_directory_starts_fresh) {
  const RunStart start = decide_start(deck_);
  EXPECT_FALSE(start.finished);
  EXPECT_TRUE(start.checkpoint.empty());
}

TEST_F(RunStartTest, auto_takes_the_newest_checkpoint) {
  write("checkpoints/step-000005.h5", "");
  write("checkpoints/step-000010.h5", "");
  EXPECT_EQ(decide_start(deck_).checkpoint.filename(), "step-000010.h5");
  deck_.run.resume = "never";
  EXPECT_TRUE(decide_start(deck_).checkpoint.empty());
  deck_.run.resume = "/elsewhere/step-000001.h5";
  EXPECT_EQ(decide_start(deck_).checkpoint, "/elsewhere/step-000001.h5");
}

TEST_F(RunStartTest, a_run_with_all_its_steps_is_finished_until_it_is_given_more) {
  write("checkpoints/step-000020.h5", "");
  EXPECT_TRUE(decide_start(deck_).finished);
  deck_.run.train_steps = 30;
  EXPECT_FALSE(decide_start(deck_).finished);
  EXPECT_EQ(decide_start(deck_).checkpoint.filename(), "step-000020.h5");
}

TEST_F(RunStartTest, a_completed_run_without_checkpoints_is_finished_too) {
  write(
      "events.jsonl",
      "{\"event\": \"start\", \"step\": 0}\n{\"event\": \"end\", \"step\": 20, \"reason\": \"completed\"}\n");
  EXPECT_TRUE(decide_start(deck_).finished);
  write("events.jsonl", "{\"event\": \"end\", \"step\": 7, \"reason\": \"signal\"}\n");
  EXPECT_FALSE(decide_start(deck_).finished);
}

TEST_F(RunStartTest, another_models_finished_run_is_an_error) {
  io::Deck other = deck_;
  other.model.num_layers = deck_.model.num_layers + 1;
  write("deck.toml", io::to_toml(other));
  write("checkpoints/step-000020.h5", "");
  EXPECT_THROW(decide_start(deck_), kernels::Error);
}

TEST_F(RunStartTest, names_what_has_changed_since_the_checkpoint) {
  io::Deck before = deck_;
  before.optimizer.lr = 0.5;
  deck_.optimizer.lr = 0.25;
  before.parallel.tensor_parallel_size = 2;  // free to change
  const auto changes = changed_settings(deck_, io::to_toml(before));
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_NE(changes.front().find("optimizer.lr was 0.5"), std::string::npos) << changes.front();
  EXPECT_TRUE(changed_settings(deck_, "").empty());
}

}  // namespace
}  // namespace tenax::app
