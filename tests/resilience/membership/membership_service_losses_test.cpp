// Replicas that are lost, and from which state the others go on.
#include "resilience/membership/membership_service.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/resilience/membership/service_bench.hpp"

namespace tenax::resilience {
namespace {

TEST(MembershipService, asks_each_survivor_once_and_folds_further_losses_into_the_change) {
  ServiceBench bench(4);
  bench.start(4);
  bench.close(k2);
  EXPECT_EQ(bench.count<Freeze>(k0), 1u);
  bench.close({3, 1});
  EXPECT_EQ(bench.count<Freeze>(k0), 1u);
  bench.report(k0, 0, 8, {{0, 0, 2}});
  EXPECT_EQ(bench.epoch().number, 1);
  bench.report(k1, 0, 8, {{1, 2, 2}});
  EXPECT_EQ(bench.epoch().number, 2);
  EXPECT_EQ(bench.epoch().reason, EpochReason::lost);
  EXPECT_EQ(replicas_of(bench.epoch()), (Replicas{0, 1}));
  EXPECT_EQ(bench.epoch().parts, (std::vector<Part>{{0, 0, 2}, {1, 2, 2}, {0, 4, 2}, {1, 6, 2}}));
}

TEST(MembershipService, goes_on_from_the_highest_state_and_lets_the_others_fetch_it) {
  ServiceBench bench(3);
  bench.start(3);
  bench.commit(k1, 0);
  bench.close(k2);
  bench.report(k0, 0, 6, {{0, 0, 2}});
  bench.report(k1, 1, 6);
  EXPECT_EQ(bench.epoch().from_step, 1);
  EXPECT_EQ(behind_in(bench.epoch()), Replicas{0});
  EXPECT_EQ(bench.epoch().writer, 1);
  EXPECT_EQ(bench.epoch().parts, (std::vector<Part>{{1, 6, 6}}));
}

TEST(MembershipService, voids_the_steps_whose_last_holder_died) {
  ServiceBench bench(2);
  bench.start(2);
  bench.commit(k0, 0);
  bench.close(k0);
  bench.report(k1, 0, 4, {{1, 2, 2}});
  ASSERT_EQ(bench.events<StepsVoided>().size(), 1u);
  EXPECT_EQ(bench.events<StepsVoided>()[0].void_from, 0);
  EXPECT_EQ(bench.epoch().from_step, 0);
  EXPECT_EQ(bench.epoch().parts, (std::vector<Part>{{1, 0, 2}, {1, 2, 2}}));
  ASSERT_EQ(bench.records.size(), 4u);
  EXPECT_EQ(std::get<VoidRecord>(bench.records[2]).epoch, 1);
}

TEST(MembershipService, goes_back_to_the_checkpoint_when_all_have_died) {
  ServiceBench bench(2);
  bench.start(2, 5);
  bench.commit(k0, 5);
  bench.close(k0);
  bench.close(k1);
  bench.come({0, 2});
  bench.say({0, 2}, Restored{5, 20});
  EXPECT_EQ(bench.epoch().from_step, 5);
  EXPECT_EQ(bench.epoch().reason, EpochReason::start);
  EXPECT_EQ(replicas_of(bench.epoch()), Replicas{0});
  EXPECT_EQ(bench.events<StepsVoided>().size(), 1u);
}

TEST(MembershipService, loses_a_replica_that_is_silent_for_longer_than_the_dead_time) {
  ServiceBench bench(2);
  bench.start(2);
  bench.pass(0.9, {k0});
  EXPECT_TRUE(bench.events<ReplicaLost>().empty());
  bench.pass(0.3, {k0});
  ASSERT_EQ(bench.events<ReplicaLost>().size(), 1u);
  EXPECT_EQ(bench.events<ReplicaLost>()[0].reason, LossReason::silent);
  EXPECT_NEAR(bench.events<ReplicaLost>()[0].detect_s, 1.1, 0.11);
  EXPECT_EQ(bench.count<Evicted>(k1), 1u);
}

TEST(MembershipService, loses_nobody_for_a_pause_of_its_own) {
  ServiceBench bench(2);
  bench.start(2);
  bench.pass(0.5, {k0, k1});
  bench.now += 30;
  bench.pass(0.8, {});
  EXPECT_TRUE(bench.events<ReplicaLost>().empty());
  bench.pass(0.4, {});
  EXPECT_EQ(bench.events<ReplicaLost>().size(), 2u);
}

TEST(MembershipService, loses_a_member_that_does_not_answer_in_time_though_it_beats) {
  ServiceBench bench(3);
  bench.start(3);
  bench.close(k2);
  bench.report(k0, 0, 6);
  bench.pass(1.2, {k0, k1});
  EXPECT_EQ(bench.events<ReplicaLost>().back().id, k1);
  EXPECT_EQ(replicas_of(bench.epoch()), Replicas{0});
}

TEST(MembershipService, loses_the_replica_that_most_others_cannot_reach) {
  ServiceBench bench(3);
  bench.start(3);
  bench.say(k1, Suspect{.epoch = 1, .replica = 0});
  bench.say(k2, Suspect{.epoch = 1, .replica = 0});
  bench.say(k0, Suspect{.epoch = 1, .replica = 2});
  EXPECT_TRUE(bench.events<ReplicaLost>().empty());
  bench.pass(0.4, {k0, k1, k2});
  ASSERT_EQ(bench.events<ReplicaLost>().size(), 1u);
  EXPECT_EQ(bench.events<ReplicaLost>()[0].id, k0);
  EXPECT_EQ(bench.events<ReplicaLost>()[0].reason, LossReason::connection);
}

TEST(MembershipService, blames_nobody_for_exchanges_that_fail_after_a_death) {
  ServiceBench bench(3);
  bench.start(3);
  bench.say(k1, Suspect{.epoch = 1, .replica = 0});
  bench.close(k2);
  bench.report(k0, 0, 6);
  bench.report(k1, 0, 6);
  bench.pass(2, {k0, k1});
  EXPECT_EQ(bench.events<ReplicaLost>().size(), 1u);
  EXPECT_EQ(bench.epoch().number, 2);
}

TEST(MembershipService, builds_the_epoch_anew_when_an_exchange_fails_and_nobody_is_named) {
  ServiceBench bench(2);
  bench.start(2);
  bench.say(k1, Suspect{.epoch = 1});
  bench.pass(0.4, {k0, k1});
  bench.report(k0, 0, 4);
  bench.report(k1, 0, 4);
  EXPECT_EQ(bench.epoch().number, 2);
  EXPECT_EQ(replicas_of(bench.epoch()), (Replicas{0, 1}));
  EXPECT_TRUE(bench.events<ReplicaLost>().empty());
}

/// So many steps end without their sums, in epochs of both, and nobody knows why.
void fail(ServiceBench& bench, int times, std::int64_t done) {
  for (int i = 0; i < times; ++i) {
    const std::int64_t epoch = bench.epoch().number;
    bench.say(k1, Suspect{.epoch = epoch});
    bench.pass(0.4, {k0, k1});
    bench.report(k0, done, 4);
    if (bench.events<ReplicaLost>().empty()) bench.report(k1, done, 4);
    EXPECT_EQ(bench.epoch().number, epoch + 1);
  }
}

TEST(MembershipService, does_without_a_replica_where_exchanges_fail_for_ever_and_nobody_is_named) {
  ServiceBench bench(2);
  bench.start(2);
  fail(bench, 9, 0);
  bench.commit(k0, 0);
  fail(bench, 10, 1);
  EXPECT_TRUE(bench.events<ReplicaLost>().empty()) << "a step was completed in between";
  fail(bench, 1, 1);
  ASSERT_EQ(bench.events<ReplicaLost>().size(), 1u);
  EXPECT_EQ(bench.events<ReplicaLost>()[0].id, k1);
  EXPECT_EQ(bench.events<ReplicaLost>()[0].reason, LossReason::connection);
  EXPECT_EQ(replicas_of(bench.epoch()), Replicas{0});
}

/// Replica 0 has come anew and fetches the state from replica 1, which alone has it.
void let_first_join(ServiceBench& bench) {
  bench.start(2);
  bench.commit(k1, 0);
  bench.close(k0);
  bench.report(k1, 1, 4);
  bench.come({0, 2});
  bench.commit(k1, 1);
  bench.report(k1, 2, 4);
  ASSERT_EQ(behind_in(bench.epoch()), Replicas{0});
}

void expect_lost_and_no_step_void(const ServiceBench& bench, ReplicaId id) {
  ASSERT_FALSE(bench.events<ReplicaLost>().empty());
  EXPECT_EQ(bench.events<ReplicaLost>().back().id, id);
  EXPECT_EQ(bench.count<Restore>(k1), 1u) << "that of its start";
  EXPECT_TRUE(bench.events<StepsVoided>().empty());
}

TEST(MembershipService, does_without_a_joiner_that_the_only_holder_cannot_reach) {
  ServiceBench bench(2);
  let_first_join(bench);
  bench.say({0, 2}, Suspect{.epoch = bench.epoch().number, .replica = 1});
  bench.say(k1, Suspect{.epoch = bench.epoch().number, .replica = 0});
  bench.pass(0.4, {{0, 2}, k1});
  bench.report(k1, 2, 4);
  expect_lost_and_no_step_void(bench, {0, 2});
  EXPECT_EQ(replicas_of(bench.epoch()), Replicas{1});
}

TEST(MembershipService, does_without_a_joiner_where_exchanges_fail_for_ever_and_nobody_is_named) {
  ServiceBench bench(2);
  let_first_join(bench);
  for (int i = 0; i < 11; ++i) {
    bench.say({0, 2}, Suspect{.epoch = bench.epoch().number});
    bench.pass(0.4, {{0, 2}, k1});
    bench.report(k1, 2, 4);
    if (i < 10) bench.report({0, 2}, -1, 4);
  }
  expect_lost_and_no_step_void(bench, {0, 2});
}

TEST(MembershipService, takes_a_joiner_that_has_completed_a_step_for_a_holder) {
  ServiceBench bench(2);
  let_first_join(bench);
  bench.commit({0, 2}, 2);
  bench.say({0, 2}, Suspect{.epoch = bench.epoch().number, .replica = 1});
  bench.say(k1, Suspect{.epoch = bench.epoch().number, .replica = 0});
  bench.pass(0.4, {{0, 2}, k1});
  EXPECT_EQ(bench.events<ReplicaLost>().back().id, k1) << "the last of the ring";
}

StateDigest digest_of(std::uint64_t number) {
  StateDigest digest;
  digest.parts[0].add(number, 1);
  return digest;
}

TEST(MembershipService, loses_the_replica_whose_gradients_differ) {
  ServiceBench bench(3);
  bench.start(3);
  bench.commit(k1, 0, 99);
  bench.commit(k0, 0, 7);
  bench.commit(k2, 0, 7);
  ASSERT_EQ(bench.events<ReplicaLost>().size(), 1u);
  EXPECT_EQ(bench.events<ReplicaLost>()[0].id, k1);
  EXPECT_EQ(bench.events<ReplicaLost>()[0].reason, LossReason::corrupt);
  ASSERT_EQ(bench.events<StateCorrupt>().size(), 1u);
  const StateCorrupt corrupt = bench.events<StateCorrupt>()[0];
  EXPECT_EQ(corrupt.by, CorruptBy::squares);
  EXPECT_EQ(corrupt.replicas, std::vector<ReplicaId>{k1});
  EXPECT_EQ(corrupt.commits, 1);
  EXPECT_FALSE(corrupt.is_tie || corrupt.distrusts_checkpoints);
}

TEST(MembershipService, loses_the_replica_whose_state_differs_and_distrusts_what_it_wrote) {
  ServiceBench bench(3);
  bench.start(3, 5);
  for (const ReplicaId& id : {k0, k1, k2}) bench.commit(id, 5, 7, digest_of(1));
  EXPECT_TRUE(bench.events<StateCorrupt>().empty());
  for (const ReplicaId& id : {k0, k1, k2}) bench.commit(id, 6, 7, digest_of(id == k0 ? 3 : 2));
  ASSERT_EQ(bench.events<StateCorrupt>().size(), 1u);
  const StateCorrupt corrupt = bench.events<StateCorrupt>()[0];
  EXPECT_EQ(corrupt.by, CorruptBy::digest);
  EXPECT_EQ(corrupt.replicas, std::vector<ReplicaId>{k0});
  EXPECT_TRUE(corrupt.distrusts_checkpoints);
  EXPECT_EQ(corrupt.trusted, 5);  // that slice was not compared before
  EXPECT_EQ(corrupt.commits, 2);
  bench.report(k1, 7, 6);
  bench.report(k2, 7, 6);
  EXPECT_EQ(replicas_of(bench.epoch()), (Replicas{1, 2}));
  EXPECT_TRUE(bench.events<StepsVoided>().empty());
}

TEST(MembershipService, loses_the_accused_once_and_repeats_the_step_without_it) {
  ServiceBench bench(3);
  bench.start(3);
  const Accuse accuse{.epoch = 1, .accusation = {.replica = 2, .by = CorruptBy::non_finite, .right = {1, 2}}};
  bench.say(k2, accuse);
  bench.say(k0, accuse);
  ASSERT_EQ(bench.events<StateCorrupt>().size(), 1u);
  EXPECT_EQ(bench.events<StateCorrupt>()[0].replicas, std::vector<ReplicaId>{k2});
  EXPECT_EQ(bench.events<StateCorrupt>()[0].by, CorruptBy::non_finite);
  EXPECT_EQ(bench.events<StateCorrupt>()[0].commits, 0);
  ASSERT_EQ(bench.events<ReplicaLost>().size(), 1u);
  bench.report(k0, 0, 6, {{0, 0, 2}});
  bench.report(k1, 0, 6, {{1, 2, 2}});
  EXPECT_EQ(bench.epoch().parts, (std::vector<Part>{{0, 0, 2}, {1, 2, 2}, {0, 4, 1}, {1, 5, 1}}));
}

TEST(MembershipService, loses_all_where_nobody_can_say_who_is_right_and_goes_back) {
  ServiceBench bench(2);
  bench.start(2, 5);
  bench.commit(k0, 5, 7, digest_of(1));
  bench.commit(k1, 5, 7, digest_of(2));
  ASSERT_EQ(bench.events<StateCorrupt>().size(), 1u);
  const StateCorrupt corrupt = bench.events<StateCorrupt>()[0];
  EXPECT_TRUE(corrupt.is_tie && corrupt.distrusts_checkpoints);
  EXPECT_EQ(corrupt.trusted, 5);
  EXPECT_EQ(bench.events<ReplicaLost>().size(), 2u);
  bench.settle_checkpoints();
  bench.come({0, 2});
  bench.say({0, 2}, Restored{3, 12});
  EXPECT_EQ(bench.events<StepsVoided>().back().void_from, 3);
  EXPECT_EQ(bench.epoch().from_step, 3);
}

TEST(MembershipService, lets_nobody_restore_a_checkpoint_before_those_that_may_be_wrong_are_set_aside) {
  ServiceBench bench(3);
  bench.start(3, 5);
  bench.close(k2);
  for (const ReplicaId& id : {k0, k1}) bench.report(id, 5, 6);
  const ReplicaId joiner{2, 2};
  bench.come(joiner);
  bench.commit(k0, 5, 7, digest_of(1));
  bench.commit(k1, 5, 7, digest_of(2));
  ASSERT_EQ(bench.events<ReplicaLost>().size(), 3u);
  EXPECT_EQ(bench.count<Restore>(joiner), 0u);
  bench.pass(1, {joiner});
  EXPECT_EQ(bench.count<Restore>(joiner), 0u);
  bench.settle_checkpoints();
  EXPECT_EQ(bench.count<Restore>(joiner), 1u);
}

}  // namespace
}  // namespace tenax::resilience
