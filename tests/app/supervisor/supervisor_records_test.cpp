// What a supervisor writes of steps that replicas have done without one.
#include "app/supervisor/supervisor_records.hpp"

#include <cstdint>
#include <string>

#include "app/effective_text.hpp"
#include "io/run/metrics_lines.hpp"
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::app {
namespace {

constexpr double kAnHour_s = 3600;

/// Two replicas, a global batch of 4.
class SupervisorRecordsTest : public ::testing::Test {
 protected:
  SupervisorRecordsTest() {
    deck_.run.output_dir = folder_.path().string();
    deck_.run.train_steps = 1000000;
    deck_.run.log_interval = 1000000;
    deck_.parallel.replicas = 2;
    deck_.batch.global_batch_size = 4;
  }
  static resilience::CommitRecord commit(std::int64_t step, double time_s) {
    return {.time = time_s,
            .step = step,
            .epoch = 1,
            .first_sample = 4 * step,
            .parts = {{0, 4 * step, 2}, {1, 4 * step + 2, 2}},
            .loss = 1,
            .grad_norm = 1,
            .lr = 1};
  }

  io::test::TemporaryFolder folder_;
  io::Deck deck_;
  Console console_{false};
};

TEST_F(SupervisorRecordsTest, steps_of_before_a_launch_are_in_the_metrics_and_not_in_its_time) {
  const double begin_s = io::unix_time_s() - kAnHour_s;
  SupervisorRecords records(deck_, console_, 0, resilience::EffectiveTime(effective_options(deck_, begin_s)));
  for (std::int64_t step = 0; step < 40; ++step)
    records.add_earlier(commit(step, begin_s - 2 * kAnHour_s + static_cast<double>(step)));
  records.begin_after(40);
  records.hand_in(resilience::Record{resilience::EpochRecord{
      begin_s, 1, 40, {{{0, 1}, "a"}, {{1, 1}, "b"}}, resilience::EpochReason::start}});
  for (std::int64_t step = 40; step < 100; ++step)
    records.hand_in(
        resilience::Record{commit(step, begin_s + kAnHour_s / 60 * static_cast<double>(step - 39))});
  EXPECT_EQ(records.write().size(), 61U) << "nobody else is told of the earlier ones";
  EXPECT_EQ(io::recorded_metrics(folder_.path()).steps, 100);
  EXPECT_EQ(folder_.read("metrics.jsonl").find("\"seconds\": 7"), std::string::npos)
      << "the time between the launches is no step's: " << folder_.read("metrics.jsonl");
  const std::string end = records.end(io::unix_time_s()).text();
  EXPECT_NE(end.find("\"effective_percent\": 100"), std::string::npos) << end;
}

TEST_F(SupervisorRecordsTest, an_event_of_one_that_is_given_up_says_what_each_loss_says) {
  SupervisorRecords records(deck_, console_, 7, resilience::EffectiveTime(effective_options(deck_, 0)));
  records.given_up({1, 3}, "blue");
  const std::string event = folder_.read("events.jsonl");
  EXPECT_NE(event.find("\"event\": \"replica_lost\", \"replica\": 1, \"host\": \"blue\", \"incarnation\": 3, "
                       "\"reason\": \"given_up\", \"detect_seconds\": 0}"),
            std::string::npos)
      << event;
}

}  // namespace
}  // namespace tenax::app
