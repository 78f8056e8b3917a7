// What is made good of the records of a supervisor that died.
#include "app/launch/unrecorded_steps.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "app/launch/unrecorded_commits.hpp"
#include "io/run/ledger.hpp"
#include "io/run/run_files.hpp"
#include "resilience/replicas/ledger_store.hpp"
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::app {
namespace {

constexpr std::int64_t kSeqLength = 32;
constexpr double kVoid_s = 1800000100;

resilience::CommitRecord commit(std::int64_t step, std::int64_t epoch, double loss) {
  return {.time = kVoid_s + static_cast<double>(step),
          .step = step,
          .epoch = epoch,
          .first_sample = 4 * step,
          .parts = {{0, 4 * step, 4}},
          .loss = loss,
          .grad_norm = 1,
          .lr = 1};
}

/// Ten steps, of which those from 5 on were trained anew as far as step 6.
std::vector<resilience::Record> retrained() {
  std::vector<resilience::Record> ledger = {resilience::EpochRecord{.epoch = 1, .members = {{{0, 1}, "a"}}}};
  for (std::int64_t step = 0; step < 10; ++step) ledger.push_back(commit(step, 1, 2));
  ledger.push_back(resilience::VoidRecord{.time = kVoid_s, .void_from = 5, .epoch = 1});
  ledger.push_back(resilience::EpochRecord{.epoch = 2, .from_step = 5, .members = {{{0, 2}, "a"}}});
  for (std::int64_t step = 5; step < 7; ++step) ledger.push_back(commit(step, 2, 3));
  return ledger;
}

class UnrecordedSteps : public ::testing::Test {
 protected:
  /// Appends the training lines of steps [from, to).
  void write(std::int64_t from, std::int64_t to, double loss) {
    io::MetricsWriter metrics(folder_.path(), 1000);
    for (std::int64_t step = from; step < to; ++step) {
      io::TrainingMetrics line{.step = step, .loss = loss, .grad_norm = 1, .lr = 1, .tokens = 4 * kSeqLength};
      line.replicas = 1;
      metrics.training(line);
    }
  }
  std::int64_t count(const std::vector<resilience::Record>& ledger) const {
    return count_recorded_steps(folder_.path(), ledger, kSeqLength);
  }
  void event(const std::string& name, double time_s) {
    io::EventsWriter(folder_.path(), [&] { return time_s; })
        .write({.name = name,
                .replica = {},
                .rank = {},
                .host = {},
                .details = io::JsonObject{}.add(name == "void" ? "void_from" : "adopted", 5)});
  }
  bool is_told() const { return !untold_void(folder_.path(), retrained()); }

  io::test::TemporaryFolder folder_;
};

TEST_F(UnrecordedSteps, begin_with_the_first_whose_line_is_of_a_void_commit) {
  write(0, 10, 2);
  EXPECT_EQ(count(retrained()), 5);
  const Unrecorded unrecorded = unrecorded_commits(retrained(), 5);
  ASSERT_EQ(unrecorded.commits.size(), 2U);
  EXPECT_EQ(unrecorded.commits[0].step, 5);
  EXPECT_EQ(unrecorded.commits[0].loss, 3);
}

TEST_F(UnrecordedSteps, are_those_without_a_line_where_the_others_agree) {
  write(0, 5, 2);
  write(5, 6, 3);
  EXPECT_EQ(count(retrained()), 6);
  write(6, 7, 3);
  EXPECT_EQ(count(retrained()), 7);
  EXPECT_EQ(count({}), 7) << "no ledger says otherwise";
}

TEST_F(UnrecordedSteps, have_no_lines_beyond_the_ledger) {
  std::vector<resilience::Record> ledger = retrained();
  ledger.resize(5);  // a host took the rest with it
  write(0, 10, 2);
  EXPECT_EQ(count(ledger), 4);
}

TEST_F(UnrecordedSteps, have_lines_beyond_a_ledger_that_the_run_has_outgrown) {
  const auto count_before = [&](std::int64_t steps) {
    return count_recorded_steps_before(steps, folder_.path(), retrained(), kSeqLength);
  };
  write(0, 5, 2);
  write(5, 6, 3);
  EXPECT_EQ(count_before(9), 6) << "the ledger has step 6";
  write(6, 9, 3);
  EXPECT_EQ(count_before(7), 7);
  EXPECT_EQ(count_before(9), 9) << "it has lost steps 7 and 8";
}

TEST_F(UnrecordedSteps, are_added_by_a_run_that_goes_on_without_a_supervisor) {
  io::Deck deck;
  deck.run.output_dir = folder_.path().string();
  deck.model.seq_length = kSeqLength;
  record_left_steps(deck, 4);
  EXPECT_FALSE(std::filesystem::exists(io::ledger_of_run(folder_.path()))) << "it has none";
  std::vector<resilience::Record> ledger = retrained();
  ledger.resize(4);
  resilience::LedgerStore(folder_.path()).append(ledger);
  const auto replica = folder_.path() / "replica-0";
  std::filesystem::create_directory(replica);
  write_unrecorded(replica, {commit(2, 1, 2), commit(3, 1, 2), commit(4, 1, 2), commit(5, 1, 2)});
  write(0, 2, 2);
  record_left_steps(deck, 5);
  EXPECT_EQ(count({}), 5) << "the checkpoint is of no more";
  EXPECT_EQ(resilience::read_ledger(folder_.path()).size(), 7U);
  EXPECT_FALSE(std::filesystem::exists(replica / "commits"));
}

TEST_F(UnrecordedSteps, a_void_line_is_told_where_an_event_or_a_launch_follows) {
  EXPECT_FALSE(is_told());
  event("launch", kVoid_s - 50);
  event("void", kVoid_s - 500);
  EXPECT_FALSE(is_told()) << "an earlier one went back to the same step";
  event("void", kVoid_s - 0.001);
  EXPECT_TRUE(is_told());
}

TEST_F(UnrecordedSteps, a_void_line_is_not_told_again_by_a_later_launch) {
  event("launch", kVoid_s + 1);
  EXPECT_TRUE(is_told());
}

}  // namespace
}  // namespace tenax::app
