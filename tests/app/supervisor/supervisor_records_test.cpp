// What a supervisor writes of steps that replicas have done without one.
#include "app/supervisor/supervisor_records.hpp"

#include <cstdint>
#include <filesystem>
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
  EXPECT_NE(end.find("\"tracking_share\": 0"), std::string::npos) << end;
}

TEST_F(SupervisorRecordsTest, are_in_place_until_one_of_their_files_is_removed_or_moved) {
  for (const char* name : {"metrics.jsonl", "events.jsonl"}) {
    SupervisorRecords records(deck_, console_, 0, resilience::EffectiveTime(effective_options(deck_, 0)));
    EXPECT_TRUE(records.are_in_place());
    std::filesystem::rename(folder_.path() / name, folder_.path() / "moved");
    EXPECT_FALSE(records.are_in_place()) << name;
    records.restore();
    EXPECT_TRUE(records.are_in_place()) << name;
    EXPECT_EQ(folder_.read(name), folder_.read("moved"));
  }
}

TEST_F(SupervisorRecordsTest,
       the_end_has_what_replicas_have_told_of_detection_and_mitigation_in_this_launch) {
  std::filesystem::create_directories(folder_.path() / "replica-0");
  std::filesystem::create_directories(folder_.path() / "replica-1");
  const auto line = [](int time, const std::string& rest) {
    return "{\"time\": " + std::to_string(time) + ", \"event\": " + rest + "}\n";
  };
  folder_.write("replica-0/events.jsonl",
                line(50, R"("end", "tracking_share": 0.5, "mitigation_seconds": 100)") +
                    line(110, R"("start")") + line(150, R"("mitigate", "cost_seconds": 4)") +
                    line(210, R"("end", "tracking_share": 0.01, "mitigation_seconds": 5)"));
  folder_.write("replica-1/events.jsonl",
                line(110, R"("start")") + line(120, R"("mitigate", "cost_seconds": 2)") +
                    line(130, R"("revert", "cost_seconds": 3)") + line(160, R"("start")") +
                    line(210, R"("end", "tracking_share": 0.04, "mitigation_seconds": 0)"));
  const std::string told =
      fail_slow_details({folder_.path() / "replica-0", folder_.path() / "replica-1"}, 100).text();
  EXPECT_EQ(told, R"({"tracking_share": 0.02, "mitigation_seconds": 10})");
}

TEST_F(SupervisorRecordsTest, tell_of_less_than_half_as_long_again_only_where_replicas_share_no_cores) {
  for (const bool is_crowded : {true, false}) {
    io::Deck deck = deck_;
    deck.run.output_dir = (folder_.path() / (is_crowded ? "crowded" : "apart")).string();
    std::filesystem::create_directories(deck.run.output_dir);
    SupervisorRecords records(deck, console_, 0, resilience::EffectiveTime(effective_options(deck, 0)));
    for (std::int64_t step = 0; step < 120; ++step) {
      resilience::CommitRecord of_step = commit(step, static_cast<double>(step + 1));
      of_step.iteration_s = (step < 60 ? 0.10 : 0.14) + 0.001 * static_cast<double>(step % 3);
      of_step.is_crowded = is_crowded;
      records.hand_in(resilience::Record{of_step});
    }
    records.write();
    EXPECT_EQ(records.take_onset(), !is_crowded);
  }
}

TEST_F(SupervisorRecordsTest, say_what_is_slow_as_a_run_without_replicas_does_where_these_share_no_cores) {
  const std::string slow = "\"kind\": \"rank\", \"rank\": 1, \"host\": \"b\"",
                    details = "{\"cause\": \"compute\", \"components\": [{" + slow +
                              ", \"factor\": 3.0, \"cause\": \"compute\"}]}";
  for (const bool is_crowded : {true, false}) {
    Console console(true);
    SupervisorRecords records(deck_, console, 0, resilience::EffectiveTime(effective_options(deck_, 0)));
    for (std::int64_t step = 0; step < 120; ++step) {
      resilience::CommitRecord of_step = commit(step, static_cast<double>(step + 1));
      of_step.iteration_s = (step < 60 ? 0.10 : 0.20) + 0.001 * static_cast<double>(step % 3);
      of_step.is_crowded = is_crowded;
      records.hand_in(resilience::Record{of_step});
    }
    for (const auto& [event, text] : {std::pair{"fail_slow", details},
                                      {"healed", "{" + slow + ", \"slow_steps\": 9}"},
                                      {"healed", std::string("{}")},
                                      {"validation", std::string("{}")}})
      records.hand_in(resilience::ServiceEvent{resilience::ReplicaObserved{
          .id = {1, 1}, .observed = {.event = event, .step = 36, .details = text}}});
    testing::internal::CaptureStdout();
    records.write();
    const std::string said = testing::internal::GetCapturedStdout();
    EXPECT_EQ(said.find("(onset)") != std::string::npos, !is_crowded) << said;
    const std::string lines =
        "step 36: replica 1: rank 1 (b) is slow: 3 times as long (compute)\n"
        "step 36: replica 1: rank 1 (b) has healed after 9 steps\n";
    EXPECT_EQ(said.ends_with(lines), !is_crowded) << said;
    EXPECT_EQ(said.find("replica 1") == std::string::npos, is_crowded) << said;
  }
}

// The slower one's is in no file, and whoever reads them counts the first.
TEST_F(SupervisorRecordsTest, the_end_counts_the_evaluation_that_the_events_have) {
  SupervisorRecords records(deck_, console_, 0, resilience::EffectiveTime(effective_options(deck_, 0)));
  for (std::int64_t step = 0; step < 10; ++step)
    records.hand_in(resilience::Record{commit(step, static_cast<double>(step + 1))});
  for (const double seconds : {0.25, 0.75})
    records.hand_in(
        resilience::ServiceEvent{resilience::StepValidated{{.done = 10, .loss = 1, .seconds = seconds}}});
  records.hand_in(resilience::Record{commit(10, 12)});
  records.write();
  const std::string events = folder_.read("events.jsonl"), end = records.end(12).text();
  EXPECT_NE(events.find("\"event\": \"evaluation\", \"seconds\": 0.25}"), std::string::npos) << events;
  EXPECT_EQ(events.find("0.75"), std::string::npos) << events;
  EXPECT_NE(end.find("\"evaluation\": 0.25,"), std::string::npos) << end;
}

TEST_F(SupervisorRecordsTest, a_replica_is_lost_before_it_is_started_again) {
  SupervisorRecords records(deck_, console_, 7, resilience::EffectiveTime(effective_options(deck_, 0)));
  records.hand_in(
      resilience::ServiceEvent{resilience::ReplicaLost{{1, 1}, "blue", resilience::LossReason::exit}});
  records.started(1, io::JsonObject{}.add("incarnation", 2));
  const std::string events = folder_.read("events.jsonl");
  EXPECT_LT(events.find("replica_lost"), events.find("replica_start")) << events;
  EXPECT_EQ(records.write().size(), 1U) << "others are still to be told of the loss";
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
