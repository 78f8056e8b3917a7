#include "resilience/effective_time/recorded_time.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "io/run/run_files.hpp"
#include "resilience/replicas/ledger_store.hpp"
#include "tests/io/deck/deck_fixture.hpp"

namespace tenax::resilience {
namespace {

using io::JsonObject;

constexpr double kBegin_s = 1800000000;
constexpr EffectiveTime::Options kOptions{.replicas = 2, .global_batch = 8};
constexpr SampleRules kRules{.global_batch = 8, .replicas = 2};

/// A run directory that is written while an account is told the same.
class Recorded {
 public:
  Recorded() : ledger_(folder.path().string()), events_(folder.path().string(), [this] { return now; }) {}

  void record(const Record& record) {
    ledger_.append({record});
    live.take(record);
  }
  void epoch(std::vector<int> replicas, EpochReason reason) {
    EpochRecord record{.time = now, .epoch = ++epoch_, .from_step = step, .members = {}, .reason = reason};
    for (const int replica : replicas)
      record.members.push_back({{replica, 1 + (reason == EpochReason::join ? replica : 0)}, "a"});
    this->record(record);
  }
  void commits(int count, double seconds, const std::vector<int>& contributors) {
    for (int i = 0; i < count; ++i) {
      now += seconds;
      record(CommitRecord{.time = now,
                          .step = step,
                          .epoch = epoch_,
                          .first_sample = 8 * step,
                          .parts = share_samples(kRules, 8 * step, contributors),
                          .loss = 1,
                          .grad_norm = 1,
                          .lr = 1});
      ++step;
    }
  }
  void event(const std::string& name, std::optional<int> replica, const JsonObject& details) {
    io::RunEvent line{.step = step, .name = name, .replica = {}, .rank = {}, .host = {}, .details = details};
    if (replica) line.replica = *replica;
    events_.write(line);
  }
  RecordedTime read() const {
    auto recorded = read_recorded_time(folder.path(), kOptions);
    EXPECT_TRUE(recorded);
    return *recorded;
  }

  io::test::TemporaryFolder folder;
  double now = kBegin_s;
  std::int64_t step = 0;
  EffectiveTime live{{.begin_s = kBegin_s, .replicas = 2, .global_batch = 8}};

 private:
  std::int64_t epoch_ = 0;
  LedgerStore ledger_;
  io::EventsWriter events_;
};

// A death in a step, and a join.
void play(Recorded& run) {
  run.event("launch", {}, JsonObject{}.add("adopted", 0));
  run.event("replica_start", 0, JsonObject{}.add("incarnation", 1));
  run.event("replica_start", 1, JsonObject{}.add("incarnation", 1));
  run.now += 2;
  run.epoch({0, 1}, EpochReason::start);
  run.commits(40, 1, {0, 1});
  run.now += 3;
  run.event("replica_lost", 1,
            JsonObject{}.add("incarnation", 1).add("reason", "exit").add("detect_seconds", 2.5));
  run.live.take(ReplicaLost{.id = {1, 1}, .host = "a", .detect_s = 2.5}, run.now);
  run.now += 0.5;
  run.epoch({0}, EpochReason::lost);
  run.event("repeat", {},
            JsonObject{}.add("kept_samples", 4).add("missing_samples", 4).add("stall_seconds", 3));
  run.live.take(StepRepeated{.step = run.step, .kept_samples = 4, .missing_samples = 4}, run.now);
  run.commits(1, 1, {0});
  run.event("replica_start", 1, JsonObject{}.add("incarnation", 2));
  run.commits(5, 2, {0});
  run.now += 0.25;
  run.epoch({0, 1}, EpochReason::join);
  run.commits(1, 3, {0});
  run.commits(1, 1.5, {0, 1});
  run.event("replica_join", 1, JsonObject{}.add("incarnation", 2).add("wait_seconds", 0.75));
  run.live.take(ReplicaJoined{.id = {1, 2}, .joined = {.held_s = 0.75}}, run.now);
  run.commits(5, 1, {0, 1});
}

void expect_equal(const TimeByCause& a, const TimeByCause& b) {
  EXPECT_NEAR(a.useful_s(), b.useful_s(), 5e-3);
  for (std::size_t i = 0; i < kLostCauses; ++i)
    EXPECT_NEAR(a.lost_s(static_cast<LostCause>(i)), b.lost_s(static_cast<LostCause>(i)), 5e-3)
        << name_of(static_cast<LostCause>(i));
}

TEST(RecordedTime, is_what_the_supervisor_counted) {
  Recorded run;
  play(run);
  const RecordedTime recorded = run.read();
  EXPECT_FALSE(recorded.has_ended);
  EXPECT_NEAR(recorded.end_s, run.now, 1e-3);
  const TimeByCause time(recorded.spans());
  EXPECT_NEAR(time.wall_s(), run.now - kBegin_s, 1e-3);
  EXPECT_NEAR(time.lost_s(LostCause::detect), 2, 5e-3);
  EXPECT_NEAR(time.lost_s(LostCause::join_wait), 0.75, 5e-3);
  expect_equal(time, run.live.until(run.now));
}

TEST(RecordedTime, counts_a_replica_that_is_given_up_as_lost_once) {
  Recorded run;
  play(run);
  const auto lose = [&](const char* reason, double detect_s) {
    run.event("replica_lost", 1,
              JsonObject{}.add("incarnation", 2).add("reason", reason).add("detect_seconds", detect_s));
  };
  run.now += 2;
  lose("exit", 1.5);
  run.live.take(ReplicaLost{.id = {1, 2}, .host = "a", .detect_s = 1.5}, run.now);
  run.epoch({0}, EpochReason::lost);
  run.now += 0.5;
  lose("given_up", 0);
  run.commits(5, 2, {0});
  expect_equal(TimeByCause(run.read().spans()), run.live.until(run.now));
}

// What the survivors kept is told after the epoch, but at a time that is rounded to one before it.
TEST(RecordedTime, takes_an_epoch_before_what_is_told_of_it) {
  Recorded run;
  play(run);
  run.now = kBegin_s + 100.0001;
  run.event("replica_lost", 1,
            JsonObject{}.add("incarnation", 2).add("reason", "hang").add("detect_seconds", 0.05));
  run.live.take(ReplicaLost{.id = {1, 2}, .host = "a", .detect_s = 0.05}, run.now);
  run.now += 0.0002;
  run.epoch({0}, EpochReason::lost);
  run.event("epoch", {}, JsonObject{}.add("epoch", 4));
  run.event("repeat", {}, JsonObject{}.add("kept_samples", 4).add("missing_samples", 4));
  run.live.take(StepRepeated{.step = run.step, .kept_samples = 4, .missing_samples = 4}, run.now);
  run.commits(5, 2, {0});
  expect_equal(TimeByCause(run.read().spans()), run.live.until(run.now));
}

TEST(RecordedTime, goes_on_where_a_supervisor_took_living_replicas_over) {
  Recorded run;
  play(run);
  run.event("launch", {}, JsonObject{}.add("adopted", 2));
  run.commits(3, 1, {0, 1});
  run.now += 1;
  run.event("end", {}, JsonObject{}.add("reason", "signal"));
  const RecordedTime recorded = run.read();
  EXPECT_TRUE(recorded.has_ended);
  EXPECT_NEAR(TimeByCause(recorded.spans()).wall_s(), run.now - kBegin_s, 1e-3);
  expect_equal(TimeByCause(recorded.spans()), run.live.until(run.now));
}

TEST(RecordedTime, is_that_of_the_last_launch) {
  Recorded run;
  play(run);
  run.event("end", {}, JsonObject{}.add("reason", "signal"));
  run.now += 1000;
  const double begin_s = run.now;
  run.event("launch", {}, JsonObject{}.add("adopted", 0));
  run.now += 2;
  run.epoch({0, 1}, EpochReason::start);
  run.commits(10, 1, {0, 1});
  run.event("end", {}, JsonObject{}.add("reason", "completed"));
  const TimeByCause time(run.read().spans());
  EXPECT_NEAR(time.wall_s(), run.now - begin_s, 1e-3);
  EXPECT_NEAR(time.useful_s(), 10, 5e-3);
}

TEST(RecordedTime, takes_evaluations) {
  Recorded run;
  play(run);
  run.now += 2;
  run.event("evaluation", {}, JsonObject{}.add("seconds", 2.0));
  run.commits(1, 1, {0, 1});
  EXPECT_NEAR(TimeByCause(run.read().spans()).lost_s(LostCause::evaluation), 2, 1e-3);
}

TEST(RecordedTime, is_nothing_without_a_launch) {
  const io::test::TemporaryFolder folder;
  EXPECT_FALSE(read_recorded_time(folder.path(), kOptions));
}

TEST(RecordedTime, has_a_row_a_replica) {
  Recorded run;
  play(run);
  const TimePicture picture = run.read().picture();
  ASSERT_EQ(picture.rows.size(), 2u);
  EXPECT_EQ(picture.epochs.size(), 3u);
  const ReplicaRow& row = picture.rows[1];
  EXPECT_EQ(row.deaths.size(), 1u);
  EXPECT_EQ(row.joins.size(), 1u);
  std::vector<ReplicaPhase> phases;
  for (const ReplicaRow::Stretch& stretch : row.stretches) phases.push_back(stretch.phase);
  EXPECT_EQ(phases, (std::vector{ReplicaPhase::starts, ReplicaPhase::trains, ReplicaPhase::starts,
                                 ReplicaPhase::fetches, ReplicaPhase::trains}));
  EXPECT_LT(row.stretches[1].end_s, row.stretches[2].begin_s);
  EXPECT_EQ(picture.rows[0].stretches.size(), 2u);
}

// Nothing but well-formed tags, whatever is lost.
TEST(RecordedTime, is_drawn) {
  Recorded run;
  play(run);
  TimePicture picture = run.read().picture();
  const std::string svg = draw_time_svg(picture);
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
  for (const char* text :
       {"Effective time", "replica 0", "replica 1", ">lost<", ">joined<", ">detect<", ">useful<", "epoch"})
    EXPECT_NE(svg.find(text), std::string::npos) << text;
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  for (int replica = 2; replica < 100; ++replica) picture.rows.push_back({.replica = replica});
  EXPECT_NE(draw_time_svg(picture).find("and 36 more replicas"), std::string::npos);
  EXPECT_TRUE(draw_time_svg({}).ends_with("</svg>\n"));
}

}  // namespace
}  // namespace tenax::resilience
