// How a run ends, and with which checkpoint.
#include "resilience/membership/membership_service.hpp"

#include <gtest/gtest.h>

#include "tests/resilience/membership/service_bench.hpp"

namespace tenax::resilience {
namespace {

TEST(MembershipService, takes_nobody_for_lost_after_the_end) {
  ServiceBench bench(2);
  bench.start(2);
  bench.service().on_run_ended();
  bench.pass(5, {});
  EXPECT_EQ(bench.events<ReplicaLost>().size(), 0u);
}

TEST(MembershipService, stops_all_at_one_step_and_ends_once_its_checkpoint_is_saved) {
  ServiceBench bench(2);
  bench.start(2);
  bench.say(k1, StopWish{});
  EXPECT_EQ(bench.last<Hold>(k0).step, 1);
  bench.say(k0, Beat{.epoch = 1, .step = 0});
  EXPECT_TRUE(bench.last<CommitAck>(k0).stops);
  bench.commit(k0, 0);
  bench.report(k0, 1, 4);
  EXPECT_EQ(bench.count<StopAt>(k0), 0u);
  EXPECT_FALSE(bench.service().has_told_stop());
  bench.report(k1, 1, 4);
  EXPECT_TRUE(bench.service().has_told_stop());
  EXPECT_EQ(bench.last<StopAt>(k1).done, 1);
  EXPECT_EQ(bench.last<StopAt>(k1).writer, 0);
  bench.say(k1, Saved{.done = 1});
  EXPECT_FALSE(bench.service().has_ended());
  bench.say(k0, Saved{.done = 1});
  EXPECT_TRUE(bench.service().has_ended());
  EXPECT_EQ(bench.count<Ended>(k0) + bench.count<Ended>(k1), 2u);
  bench.close(k0);
  bench.pass(3, {});
  EXPECT_TRUE(bench.events<ReplicaLost>().empty()) << "who exits is silent soon";
}

TEST(MembershipService, does_not_end_the_run_where_the_last_checkpoint_could_not_be_written) {
  ServiceBench bench(1);
  bench.start(1, 99);
  bench.commit(k0, 99);
  bench.report(k0, 100, 4);
  bench.say(k0, Saved{.done = 100, .failure = "the disk is full", .is_final = true});
  EXPECT_FALSE(bench.service().has_ended());
  ASSERT_EQ(bench.events<CheckpointSaved>().size(), 1u);
  EXPECT_TRUE(bench.events<CheckpointSaved>()[0].is_last);
}

TEST(MembershipService, takes_no_failure_of_a_checkpoint_in_between_for_that_of_the_last_one) {
  ServiceBench bench(1);
  bench.start(1, 99);
  bench.commit(k0, 99);
  bench.report(k0, 100, 4);
  bench.say(k0, Saved{.done = 100, .failure = "the disk is full"});
  ASSERT_EQ(bench.events<CheckpointSaved>().size(), 1u);
  EXPECT_FALSE(bench.events<CheckpointSaved>()[0].is_last);
  bench.say(k0, Saved{.done = 100});
  EXPECT_TRUE(bench.service().has_ended());
}

TEST(MembershipService, stores_the_commits_of_a_checkpoint_for_good_before_it_counts) {
  ServiceBench bench(2);
  bench.start(2);
  bench.commit(k0, 0);
  EXPECT_EQ(bench.stored_for_good, 1u) << "the epoch";
  bench.say(k0, Saved{.done = 1});
  EXPECT_EQ(bench.events<CheckpointSaved>().size(), 1u);
  EXPECT_EQ(bench.stored_for_good, 2u);
}

TEST(MembershipService, lets_another_save_the_last_checkpoint_when_the_writer_dies) {
  ServiceBench bench(2);
  bench.start(2, 99);
  bench.commit(k0, 99);
  EXPECT_EQ(bench.last<Hold>(k1).step, 100);
  bench.report(k0, 100, 4);
  bench.report(k1, 100, 4);
  EXPECT_EQ(bench.last<StopAt>(k1).writer, 0);
  bench.close(k0);
  bench.report(k1, 100, 4);
  EXPECT_EQ(bench.last<StopAt>(k1).writer, 1);
  bench.say(k1, Saved{.done = 100});
  EXPECT_TRUE(bench.service().has_ended());
}

TEST(MembershipService, ends_the_run_when_too_few_are_left_that_are_not_given_up) {
  ServiceBench bench(3, {}, 2);
  bench.start(3);
  bench.close(k1);
  bench.service().on_given_up(1, bench.now);
  bench.report(k0, 0, 6);
  bench.report(k2, 0, 6);
  EXPECT_TRUE(bench.events<TooFewLeft>().empty());
  EXPECT_EQ(replicas_of(bench.epoch()), (Replicas{0, 2}));
  bench.close(k2);
  bench.report(k0, 0, 6);
  bench.service().on_given_up(2, bench.now);
  bench.pass(0.1, {k0});
  ASSERT_EQ(bench.events<TooFewLeft>().size(), 1u);
  EXPECT_EQ(bench.events<TooFewLeft>()[0].given_up, (std::vector<int>{1, 2}));
  EXPECT_EQ(bench.events<TooFewLeft>()[0].left, 1);
  EXPECT_EQ(bench.last<StopAt>(k0).writer, 0) << "it saves what it holds";
  bench.say(k0, Saved{.done = 0});
  EXPECT_TRUE(bench.service().has_ended());
}

TEST(MembershipService, tells_how_long_replicas_waited_for_others_until_the_run_was_to_end) {
  ServiceBench bench(2, {}, 2);
  bench.start(2);
  bench.close(k1);
  bench.report(k0, 0, 4);
  bench.pass(3, {k0});
  EXPECT_TRUE(bench.events<MembersAwaited>().empty());
  bench.service().on_stop_wish(bench.now);
  bench.pass(1, {k0});
  ASSERT_EQ(bench.events<MembersAwaited>().size(), 1u);
  EXPECT_NEAR(bench.events<MembersAwaited>()[0].seconds, 3, 0.11);
  bench.say(k0, Saved{.done = 0});
  EXPECT_TRUE(bench.service().has_ended());
  EXPECT_EQ(bench.events<MembersAwaited>().size(), 1u);
}

TEST(MembershipService, tells_of_the_wait_where_nobody_is_left_when_the_run_is_to_end) {
  ServiceBench bench(2);
  bench.start(2);
  bench.close(k0);
  bench.close(k1);
  bench.pass(2, {});
  bench.service().on_stop_wish(bench.now);
  bench.pass(0.1, {});
  EXPECT_TRUE(bench.service().has_ended());
  ASSERT_EQ(bench.events<MembersAwaited>().size(), 1u);
  EXPECT_NEAR(bench.events<MembersAwaited>()[0].seconds, 2, 0.11);
}

TEST(MembershipService, lets_a_replica_leave_between_two_steps) {
  ServiceBench bench(2);
  bench.start(2);
  bench.say(k0, Leave{});
  bench.commit(k0, 0);
  bench.report(k0, 1, 4);
  bench.report(k1, 1, 4);
  EXPECT_EQ(bench.epoch().reason, EpochReason::leave);
  EXPECT_EQ(replicas_of(bench.epoch()), Replicas{1});
  EXPECT_EQ(bench.count<Evicted>(k0), 1u);
  EXPECT_TRUE(bench.events<ReplicaLost>().empty());
}

}  // namespace
}  // namespace tenax::resilience
