#include "app/training/run_start.hpp"

#include "app/training/lost_checkpoints.hpp"
#include "comm/world.hpp"
#include "io/checkpoint/checkpoint_serial.hpp"
#include "resilience/checkpoint/checkpoint_directory.hpp"
#include "tests/io/checkpoint/checkpoint_fixture.hpp"
#include "tests/io/deck/deck_fixture.hpp"

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
    write("deck_of_the_user.toml", io::test::kSmallDeck);
    deck_ =
        io::read_deck(directory_ / "deck_of_the_user.toml",
                      {"run.output_dir=" + directory_.string(), "model.num_layers=2", "model.hidden_size=8"});
  }
  ~RunStartTest() override { fs::remove_all(directory_); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name) << text;
  }
  fs::path write_checkpoint(std::int64_t step) const {
    io::CheckpointInfo info;
    info.step = step;
    info.model = deck_.model;
    const io::WholeState state(info.model);
    const fs::path file = resilience::checkpoint_name(deck_.checkpoint.dir, step);
    io::write_checkpoint(file, info, state.ranges);
    return file;
  }
  RunStart decide() const { return decide_start(*group_, deck_); }

  fs::path directory_;
  io::Deck deck_;
  std::unique_ptr<comm::World> world_ = std::move(comm::create_thread_worlds(1, {.deadline_s = 20}).front());
  std::unique_ptr<comm::ControlGroup> group_ = world_->control_group();
};

TEST_F(RunStartTest, an_empty_directory_starts_fresh) {
  const RunStart start = decide();
  EXPECT_FALSE(start.finished);
  EXPECT_FALSE(start.checkpoint);
}

TEST_F(RunStartTest, auto_takes_the_newest_complete_checkpoint) {
  const fs::path five = write_checkpoint(5);
  fs::resize_file(write_checkpoint(10), 5000);
  const RunStart start = decide();
  EXPECT_EQ(start.checkpoint->file(), five);
  EXPECT_EQ(start.steps, 5);
  ASSERT_EQ(start.passed_over.size(), 1U);
  EXPECT_EQ(start.passed_over.front().name, "step-000010.h5");
  deck_.run.resume = "never";
  EXPECT_FALSE(decide().checkpoint);
}

TEST_F(RunStartTest, a_named_checkpoint_is_taken_or_nothing_is) {
  const fs::path named = write_checkpoint(5);
  write_checkpoint(10);
  deck_.run.resume = named;
  EXPECT_EQ(decide().steps, 5);
  fs::resize_file(named, 5000);
  EXPECT_THROW(decide(), comm::AgreedError);
}

TEST_F(RunStartTest, a_run_with_all_its_steps_is_finished_until_it_is_given_more) {
  write_checkpoint(20);
  EXPECT_TRUE(decide().finished);
  EXPECT_EQ(decide().steps, 20);
  deck_.run.train_steps = 30;
  EXPECT_FALSE(decide().finished);
}

TEST_F(RunStartTest, a_run_whose_last_checkpoint_is_damaged_is_not_finished_whatever_its_events_say) {
  write("events.jsonl", "{\"event\": \"end\", \"step\": 20, \"reason\": \"completed\"}\n");
  write_checkpoint(15);
  fs::resize_file(write_checkpoint(20), 5000);
  EXPECT_FALSE(decide().finished);
  EXPECT_EQ(decide().steps, 15);
}

TEST_F(RunStartTest, a_completed_run_that_writes_no_checkpoints_is_finished_too) {
  io::Deck without = deck_;
  without.checkpoint.interval = -1;
  write("deck.toml", io::to_toml(without));
  write(
      "events.jsonl",
      "{\"event\": \"start\", \"step\": 0}\n{\"event\": \"end\", \"step\": 20, \"reason\": \"completed\"}\n");
  EXPECT_TRUE(decide().finished);
  write("events.jsonl", "{\"event\": \"end\", \"step\": 7, \"reason\": \"signal\"}\n");
  EXPECT_FALSE(decide().finished);
  EXPECT_EQ(decide().steps, 0);
}

TEST_F(RunStartTest, a_completed_run_that_has_lost_its_checkpoints_is_not_begun_anew_in_silence) {
  write("events.jsonl", "{\"event\": \"end\", \"step\": 20, \"reason\": \"completed\"}\n");
  for (const std::int64_t steps : {20, 30}) {
    deck_.run.train_steps = steps;
    const std::string error = io::error_of([&] { decide(); });
    EXPECT_NE(error.find("run.resume=never"), std::string::npos) << error;
  }
}

TEST_F(RunStartTest, an_interrupted_run_that_has_lost_its_checkpoints_keeps_its_metrics_and_says_so_once) {
  const std::string begun = "{\"event\": \"start\", \"step\": 0}\n";
  for (const char* event : {"checkpoint", "resume"}) {
    write("events.jsonl", begun + "{\"event\": \"" + event + "\", \"step\": 7}\n");
    write("metrics.jsonl", event);
    fs::create_directory(directory_ / "tensorboard");
    EXPECT_FALSE(decide().checkpoint);
    const auto warning = leave_lost_steps(deck_);
    ASSERT_TRUE(warning);
    EXPECT_NE(warning->find("none to resume from in " + deck_.checkpoint.dir + ": the run begins at step 0"),
              std::string::npos);
    EXPECT_FALSE(fs::exists(directory_ / "metrics.jsonl"));
    EXPECT_FALSE(fs::exists(directory_ / "tensorboard"));
    for (const std::string kept : {"metrics.jsonl.1", "tensorboard.1"}) {
      EXPECT_NE(warning->find(kept), std::string::npos) << *warning;
      EXPECT_TRUE(fs::exists(directory_ / kept));
      fs::remove(directory_ / kept);
    }
  }
  write("metrics.jsonl", "of a run that has no checkpoint yet");
  std::ofstream(directory_ / "events.jsonl", std::ios::app) << begun;
  EXPECT_FALSE(leave_lost_steps(deck_));
  EXPECT_TRUE(fs::exists(directory_ / "metrics.jsonl"));
}

TEST_F(RunStartTest, another_models_finished_run_is_an_error) {
  write_checkpoint(20);
  ++deck_.model.num_layers;
  EXPECT_THROW(decide(), kernels::Error);
}

TEST_F(RunStartTest, names_what_has_changed_since_the_checkpoint) {
  io::Deck before = deck_;
  before.optimizer.lr = 0.5;
  deck_.optimizer.lr = 0.25;
  before.parallel.tensor_parallel_size = 2;  // free to change, as are [detect] and [mitigate]
  before.detect.suspect = 2;
  before.mitigate.min_gain = 1;
  const auto changes = changed_settings(deck_, io::to_toml(before));
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_NE(changes.front().find("optimizer.lr was 0.5"), std::string::npos) << changes.front();
  EXPECT_TRUE(changed_settings(deck_, "").empty());
}

TEST_F(RunStartTest, names_the_sample_with_which_another_batch_begins) {
  io::CheckpointInfo info;
  info.step = 5;
  info.deck = io::to_toml(deck_);
  EXPECT_EQ(next_sample_of(info), 40);
  info.next_sample = 36;
  EXPECT_EQ(next_sample_of(info), 36);
  deck_.batch.global_batch_size = 12;
  EXPECT_EQ(changes_on_resume(deck_, info.deck, 36),
            (std::vector<std::string>{
                "batch.global_batch_size was 8 when the checkpoint was written, is 12 now: it goes on "
                "with sample 36, the first that no step before has had"}));
}

TEST_F(RunStartTest, names_another_compute_dtype) {
  const std::string before = io::to_toml(deck_);
  deck_.model.compute_dtype = io::ComputeDtype::bf16;
  EXPECT_EQ(changed_settings(deck_, before),
            (std::vector<std::string>{
                "model.compute_dtype was \"fp32\" when the checkpoint was written, is \"bf16\" now"}));
}

TEST_F(RunStartTest, names_another_optimizer_also_than_that_of_a_deck_which_had_no_choice) {
  std::string before = io::to_toml(deck_);
  before.erase(before.find("kind = \"adamw\"\n"), std::string("kind = \"adamw\"\n").size());
  EXPECT_TRUE(changed_settings(deck_, before).empty());
  deck_.optimizer.kind = io::OptimizerKind::lion;
  const auto changes = changed_settings(deck_, before);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_NE(changes.front().find("optimizer.kind was \"adamw\""), std::string::npos) << changes.front();
}

TEST_F(RunStartTest, says_that_data_files_are_others_where_the_deck_does_not_show_it) {
  io::CheckpointInfo info;
  info.deck = io::to_toml(deck_);
  EXPECT_EQ(changed_files(deck_, info, "b"), "") << "written before checkpoints said so";
  info.origin.data_checksum = "a";
  EXPECT_EQ(changed_files(deck_, info, "a"), "");
  EXPECT_NE(changed_files(deck_, info, "b").find("one has come, gone or changed"), std::string::npos);
  deck_.data.train.front().file += "-moved";
  EXPECT_EQ(changed_files(deck_, info, "b"), "") << "data.train is told already";
}

TEST(MissingMoments, are_named_in_one_sentence) {
  io::CheckpointInfo info;
  info.parameters.push_back(
      {.name = "wte.weight", .parts = {{io::kWeightGroup}, {io::moment_group("exp_avg")}}});
  EXPECT_EQ(missing_moments(info, {"exp_avg"}), "");
  EXPECT_EQ(missing_moments(info, {"exp_avg", "exp_avg_sq"}),
            "the checkpoint has no exp_avg_sq; it starts at zero");
  EXPECT_EQ(missing_moments(info, {"a", "exp_avg", "b"}), "the checkpoint has no a, b; they start at zero");
}

}  // namespace
}  // namespace tenax::app
