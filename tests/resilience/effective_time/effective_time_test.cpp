#include "resilience/effective_time/effective_time.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tenax::resilience {
namespace {

using Cause = LostCause;

constexpr int kReplicas = 4;
constexpr std::int64_t kBatch = 24;

/// A run whose clock the test moves.
class Story {
 public:
  explicit Story(BatchRule batch = BatchRule::keep)
      : account({.begin_s = 1000, .replicas = kReplicas, .global_batch = kBatch}),
        rules_{.batch = batch, .global_batch = kBatch, .replicas = kReplicas, .unit = 2} {}

  void epoch(std::vector<int> replicas, EpochReason reason) {
    EpochRecord record{.time = now, .epoch = ++epoch_, .from_step = step, .members = {}, .reason = reason};
    for (const int replica : replicas) record.members.push_back({{replica, incarnation}, "host"});
    account.take(Record{record});
  }
  void start() {
    epoch({0, 1, 2, 3}, EpochReason::start);
    commit(3, {0, 1, 2, 3});
    commits(40, 2, {0, 1, 2, 3});
  }
  void commit(double seconds, const std::vector<int>& contributors) {
    now += seconds;
    account.take(Record{CommitRecord{
        .time = now, .step = step++, .epoch = epoch_, .parts = share_samples(rules_, 0, contributors)}});
  }
  void commits(int steps, double seconds, const std::vector<int>& contributors) {
    for (int i = 0; i < steps; ++i) commit(seconds, contributors);
  }
  void event(const ServiceEvent& event) { account.take(event, now); }
  void lose(int replica, double detect_s) {
    event(ReplicaLost{.id = {replica, incarnation}, .host = "host", .detect_s = detect_s});
  }
  TimeByCause time() const {
    const TimeByCause time = account.until(now);
    EXPECT_NEAR(time.wall_s(), now - 1000, 1e-9);
    return time;
  }

  EffectiveTime account;
  double now = 1000;
  std::int64_t step = 0;
  int incarnation = 1;

 private:
  SampleRules rules_;
  std::int64_t epoch_ = 0;
};

TEST(EffectiveTime, of_a_run_without_fault_is_useful_after_its_first_step) {
  Story story;
  story.now += 7;
  story.start();
  const TimeByCause time = story.time();
  EXPECT_DOUBLE_EQ(time.lost_s(Cause::none_alive), 7);
  EXPECT_DOUBLE_EQ(time.lost_s(Cause::first_step), 1);
  EXPECT_DOUBLE_EQ(time.useful_s(), 2 * 41);
}

TEST(EffectiveTime, of_steps_without_a_replica_is_their_share_under_shrink) {
  Story story(BatchRule::shrink);
  story.start();
  const double before_s = story.time().useful_s();
  story.lose(3, 0);
  story.epoch({0, 1, 2}, EpochReason::lost);
  story.commits(10, 2, {0, 1, 2});
  EXPECT_NEAR(story.time().useful_s() - before_s, 20 * 0.75, 1e-9);
  EXPECT_NEAR(story.time().lost_s(Cause::absent), 20 * 0.25, 1e-9);
}

// 8 samples take a replica longer than 6: 2.5 s.
TEST(EffectiveTime, of_steps_without_a_replica_is_what_all_would_take_under_keep) {
  Story story;
  story.start();
  const double before_s = story.time().useful_s();
  story.lose(3, 0);
  story.epoch({0, 1, 2}, EpochReason::lost);
  story.commits(10, 2.5, {0, 1, 2});
  EXPECT_NEAR(story.time().useful_s() - before_s, 20, 1e-9);
  EXPECT_NEAR(story.time().lost_s(Cause::absent), 5, 1e-9);
  EXPECT_EQ(story.time().lost_s(Cause::slow), 0);
}

TEST(EffectiveTime, of_a_loss_is_cut_where_it_was_told_and_decided) {
  Story story;
  story.start();
  story.now += 3;
  story.lose(3, 2);
  story.now += 0.5;
  story.epoch({0, 1, 2}, EpochReason::lost);
  story.event(StepRepeated{.step = story.step, .kept_samples = 18, .missing_samples = 6});
  story.commit(1, {0, 1, 2});
  const TimeByCause time = story.time();
  EXPECT_NEAR(time.lost_s(Cause::detect), 1, 1e-9);
  EXPECT_NEAR(time.lost_s(Cause::reconfigure), 0.5, 1e-9);
  EXPECT_NEAR(time.lost_s(Cause::repeat), 1, 1e-9);
}

TEST(EffectiveTime, takes_a_loss_that_is_told_after_its_epoch) {
  Story story;
  story.start();
  story.now += 3;
  story.epoch({0, 1, 2}, EpochReason::lost);
  story.lose(3, 2);
  story.event(StepRepeated{.step = story.step, .kept_samples = 18, .missing_samples = 6});
  story.commit(1, {0, 1, 2});
  EXPECT_NEAR(story.time().lost_s(Cause::detect), 1, 1e-9);
}

TEST(EffectiveTime, knows_a_replica_that_was_no_member_from_one_that_was) {
  Story story;
  story.start();
  story.lose(3, 0);
  story.epoch({0, 1, 2}, EpochReason::lost);
  story.commits(3, 2, {0, 1, 2});
  story.now += 1;
  story.lose(3, 1);
  story.now += 1;
  story.epoch({0, 1, 2, 3}, EpochReason::join);
  story.commit(2, {0, 1, 2});
  EXPECT_EQ(story.time().lost_s(Cause::detect), 0);
  EXPECT_NEAR(story.time().lost_s(Cause::reconfigure), 2, 1e-9);
}

TEST(EffectiveTime, of_a_join_is_state_waiting_and_first_step) {
  Story story(BatchRule::shrink);
  story.start();
  story.lose(3, 0);
  story.epoch({0, 1, 2}, EpochReason::lost);
  story.commits(3, 2, {0, 1, 2});
  story.now += 0.25;
  story.epoch({0, 1, 2, 3}, EpochReason::join);
  story.commit(3, {0, 1, 2});
  story.event(ReplicaJoined{.id = {3, 1}, .joined = {.state_s = 3, .held_s = 0.75}});
  story.commit(4, {0, 1, 2, 3});
  const TimeByCause time = story.time();
  EXPECT_NEAR(time.lost_s(Cause::reconfigure), 0.25, 1e-9);
  EXPECT_NEAR(time.lost_s(Cause::join_wait), 0.75, 1e-9);
  EXPECT_NEAR(time.lost_s(Cause::state), 0.25, 1e-9);
  EXPECT_NEAR(time.lost_s(Cause::first_step), 1 + 2, 1e-9);
}

TEST(EffectiveTime, of_steps_that_are_void_is_thrown_away) {
  Story story;
  story.start();
  const double before_s = story.time().useful_s();
  for (int replica = 0; replica < kReplicas; ++replica) story.lose(replica, 0);
  story.now += 30;
  story.account.take(Record{VoidRecord{.time = story.now, .void_from = story.step - 10}});
  story.step -= 10;
  story.incarnation = 2;
  story.epoch({0, 1, 2, 3}, EpochReason::start);
  story.commits(10, 2, {0, 1, 2, 3});
  const TimeByCause time = story.time();
  EXPECT_NEAR(time.useful_s(), before_s, 1e-9);
  EXPECT_NEAR(time.lost_s(Cause::repeat), 20, 1e-9);
  EXPECT_NEAR(time.lost_s(Cause::none_alive), 30, 1e-9);
}

TEST(EffectiveTime, has_evaluation_checkpoint_and_what_is_slow) {
  Story story;
  story.start();
  const std::vector<int> all{0, 1, 2, 3};
  story.now += 1.5;
  story.event(StepValidated{{.done = story.step, .loss = 1, .seconds = 1.5}});
  story.commit(2, all);
  story.commit(2.5, all);
  story.event(CheckpointSaved{.writer = {0, 1}, .saved = {.done = 42, .seconds = 1}});
  story.commits(2, 2, all);
  story.commit(3, all);
  const TimeByCause time = story.time();
  EXPECT_NEAR(time.lost_s(Cause::evaluation), 1.5, 1e-9);
  EXPECT_NEAR(time.lost_s(Cause::checkpoint), 0.5, 1e-9);
  EXPECT_NEAR(time.lost_s(Cause::slow), 1, 1e-9);
}

TEST(EffectiveTime, of_waiting_for_the_service_is_its_own) {
  Story story;
  story.start();
  story.now += 12;
  story.event(ServiceAwaited{.id = {0, 1}, .seconds = 9});
  story.lose(3, 11);
  story.epoch({0, 1, 2}, EpochReason::lost);
  story.event(StepRepeated{.step = story.step, .kept_samples = 18, .missing_samples = 6});
  story.commit(1, {0, 1, 2});
  const TimeByCause time = story.time();
  EXPECT_NEAR(time.lost_s(Cause::service), 9, 1e-9);
  EXPECT_NEAR(time.lost_s(Cause::detect), 1, 1e-9);
}

TEST(EffectiveTime, of_waiting_for_enough_replicas_is_as_if_none_were_there) {
  Story story;
  story.start();
  story.lose(3, 0);
  story.now += 50;
  story.epoch({0, 1, 2, 3}, EpochReason::lost);
  story.event(MembersAwaited{.seconds = 50});
  story.commit(2, {0, 1, 2});
  EXPECT_NEAR(story.time().lost_s(Cause::none_alive), 50, 1e-9);
}

// FT-HSDP, section 6.1: 12 replicas, a failure every 18 minutes, 10 to repair, and in 3 of them nobody trains: 80 %.
TEST(EffectiveTime, reproduces_the_paper) {
  constexpr double kMinute_s = 60, kStep_s = 20;
  EffectiveTime account({.begin_s = 0, .replicas = 12, .global_batch = 12});
  const SampleRules rules{.batch = BatchRule::shrink, .global_batch = 12, .replicas = 12};
  double now = 0;
  std::int64_t step = 0, epoch = 0;
  const auto decide = [&](int members, EpochReason reason) {
    EpochRecord record{.time = now, .epoch = ++epoch, .from_step = step, .members = {}, .reason = reason};
    for (int replica = 0; replica < members; ++replica) record.members.push_back({{replica, 1}, "host"});
    account.take(Record{record});
  };
  const auto train_until = [&](double end_s, int contributors, double first_s) {
    std::vector<int> all;
    for (int replica = 0; replica < contributors; ++replica) all.push_back(replica);
    for (double seconds = first_s; now + seconds <= end_s + 1e-6; seconds = kStep_s) {
      now += seconds;
      account.take(Record{CommitRecord{.time = now, .step = step++, .parts = share_samples(rules, 0, all)}});
    }
  };
  decide(12, EpochReason::start);
  for (int failure = 0; failure < 20; ++failure) {
    const double begin_s = now;
    train_until(begin_s + 8 * kMinute_s, 12, kStep_s);
    now += kMinute_s;
    account.take(ReplicaLost{.id = {11, 1}, .host = "host", .detect_s = kMinute_s}, now);
    decide(11, EpochReason::lost);
    train_until(begin_s + 16 * kMinute_s - kStep_s, 11, kStep_s);
    decide(12, EpochReason::join);
    train_until(begin_s + 18 * kMinute_s, 11, 2 * kMinute_s + kStep_s);
  }
  EXPECT_NEAR(account.until(now).effective_percent(), 80, 1);
}

}  // namespace
}  // namespace tenax::resilience
