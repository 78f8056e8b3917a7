#include "resilience/membership/membership_service.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/error.hpp"
#include "tests/resilience/membership/service_bench.hpp"

namespace tenax::resilience {
namespace {

constexpr ReplicaId k0{0, 1}, k1{1, 1}, k2{2, 1};

std::vector<int> replicas_of(const Epoch& epoch) {
  std::vector<int> replicas;
  for (const EpochMember& member : epoch.members) replicas.push_back(member.id.replica);
  return replicas;
}

std::vector<int> behind_in(const Epoch& epoch) {
  std::vector<int> replicas;
  for (const EpochMember& member : epoch.members)
    if (member.is_behind) replicas.push_back(member.id.replica);
  return replicas;
}

using Replicas = std::vector<int>;

TEST(MembershipService, refuses_what_does_not_belong_to_the_run_and_says_why) {
  ServiceBench bench(2);
  bench.start(2);
  CheckIn other = ServiceBench::check_in({1, 2});
  other.build = "c";
  bench.say({1, 2}, other);
  EXPECT_EQ(bench.last<Refused>({1, 2}).reason, "it is build c, the run is trained by b");
  other = ServiceBench::check_in({1, 3});
  other.deck = "e";
  bench.say({1, 3}, other);
  EXPECT_EQ(bench.last<Refused>({1, 3}).reason, "it has another deck than the run");
  bench.come({2, 4});
  EXPECT_EQ(bench.last<Refused>({2, 4}).reason, "the run has no replica 2");
  bench.say({7, 7}, ServiceBench::check_in(k1));
  EXPECT_EQ(bench.last<Refused>({7, 7}).reason, "its start 1 takes part already");
  bench.close(k1);
  bench.say({8, 8}, ServiceBench::check_in(k1));
  EXPECT_EQ(bench.last<Refused>({8, 8}).reason, "its start 1 was given up for lost");
  EXPECT_EQ(bench.events<ReplicaLost>().size(), 1u);
  EXPECT_EQ(bench.closed.size(), 6u) << "five refused, one lost";
}

TEST(MembershipService, begins_when_all_replicas_have_restored_their_state) {
  ServiceBench bench(3);
  bench.come(k0);
  bench.come(k1);
  EXPECT_EQ(bench.count<Restore>(k0), 0u);
  bench.come(k2);
  bench.say(k0, Restored{4, 24});
  bench.say(k1, Restored{4, 24});
  EXPECT_EQ(bench.count<NewEpoch>(k0), 0u);
  bench.say(k2, Restored{4, 24});
  const Epoch epoch = bench.last<NewEpoch>(k1).epoch;
  EXPECT_EQ(epoch.number, 1);
  EXPECT_EQ(epoch.from_step, 4);
  EXPECT_EQ(epoch.parts, (std::vector<Part>{{0, 24, 2}, {1, 26, 2}, {2, 28, 2}}));
  EXPECT_EQ(epoch.reason, EpochReason::start);
  EXPECT_EQ(epoch.writer, 0);
}

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

TEST(MembershipService, tells_which_rank_was_lost_and_what_of_the_step_is_left) {
  ServiceBench bench(3);
  bench.start(3);
  bench.now = 2;
  for (const ReplicaId id : {k0, k1}) bench.say(id, Beat{});
  bench.say(k2, RankLost{.rank = 5, .host = "there", .silent_s = 1.25, .is_gone = false});
  bench.close(k2);
  const auto lost = bench.events<ReplicaLost>();
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].rank, 5);
  EXPECT_EQ(lost[0].host, "there");
  EXPECT_EQ(lost[0].reason, LossReason::silent);
  EXPECT_EQ(lost[0].detect_s, 1.25);
  bench.now = 2.5;
  bench.report(k0, 0, 6, {{0, 0, 2}});
  bench.report(k1, 0, 6, {{1, 2, 2}});
  const auto repeated = bench.events<StepRepeated>();
  ASSERT_EQ(repeated.size(), 1u);
  EXPECT_EQ(repeated[0].kept_samples, 4);
  EXPECT_EQ(repeated[0].missing_samples, 2);
  EXPECT_EQ(repeated[0].stall_s, 1.75);
}

TEST(MembershipService, knows_the_host_of_a_member_that_never_came_back) {
  ServiceBench bench(2);
  bench.start(2);
  bench.now = 1;
  bench.close(k1);
  ASSERT_EQ(bench.events<ReplicaLost>().size(), 1u);
  EXPECT_EQ(bench.events<ReplicaLost>()[0].rank, 0) << "its leader's link";
  ServiceBench again(2, bench.records);
  again.come(k0);
  again.service().on_exit(k1, 0);
  again.pass(0.2, {k0});
  ASSERT_EQ(again.events<ReplicaLost>().size(), 1u);
  EXPECT_EQ(again.events<ReplicaLost>()[0].host, "h");
  EXPECT_EQ(again.events<ReplicaLost>()[0].rank, -1);
}

TEST(MembershipService,
     tells_of_validations_of_steps_that_count_and_acknowledges_them_when_they_are_recorded) {
  ServiceBench bench(2);
  bench.start(2);
  bench.say(k0, Validated{.done = 1, .loss = 3});
  EXPECT_EQ(bench.events<StepValidated>().size(), 0u) << "nobody has committed that step";
  bench.commit(k0, 0);
  bench.say(k0, Validated{.done = 1, .loss = 3});
  ASSERT_EQ(bench.events<StepValidated>().size(), 1u);
  EXPECT_EQ(bench.events<StepValidated>()[0].validated.loss, 3);
  EXPECT_EQ(bench.count<ValidationAck>(k1), 0u);
  bench.service().on_validation_recorded(1);
  bench.pass(0.1, {k0, k1});
  EXPECT_EQ(bench.last<ValidationAck>(k1).done, 1);
}

TEST(MembershipService, tells_a_member_that_what_it_observed_is_recorded) {
  ServiceBench bench(2);
  bench.start(2);
  bench.say(k1, Observed{.number = 4, .event = "onset"});
  const auto observed = bench.events<ReplicaObserved>();
  ASSERT_EQ(observed.size(), 1u);
  EXPECT_EQ(bench.count<ObservationAck>(k1), 0u);
  bench.service().on_observation_recorded(observed[0].id, observed[0].observed.number);
  bench.pass(0.1, {k0, k1});
  EXPECT_EQ(bench.last<ObservationAck>(k1).number, 4);
  EXPECT_EQ(bench.count<ObservationAck>(k0), 0u);
}

TEST(MembershipService, tells_a_member_that_its_join_is_recorded) {
  ServiceBench bench(2);
  bench.start(2);
  bench.say(k1, Joined{.epoch = 1});
  ASSERT_EQ(bench.events<ReplicaJoined>().size(), 1u);
  bench.service().on_join_recorded(bench.events<ReplicaJoined>()[0].id, 1);
  bench.pass(0.1, {k0, k1});
  EXPECT_EQ(bench.last<JoinAck>(k1).epoch, 1);
  EXPECT_EQ(bench.count<JoinAck>(k0), 0u);
}

TEST(MembershipService, takes_nobody_for_lost_after_the_end) {
  ServiceBench bench(2);
  bench.start(2);
  bench.service().on_run_ended();
  bench.pass(5, {});
  EXPECT_EQ(bench.events<ReplicaLost>().size(), 0u);
}

TEST(MembershipService, tells_how_long_members_waited_for_one_that_joins) {
  ServiceBench bench(2);
  bench.start(2);
  bench.close(k1);
  bench.report(k0, 0, 4, {{0, 0, 2}});
  bench.come({1, 2});
  bench.commit(k0, 0);
  bench.now = 1;
  bench.report(k0, 1, 4, {});
  bench.say({1, 2}, Joined{.state_s = 0.5, .held_s = 0.25, .bytes = 100, .sources = 1});
  const auto joined = bench.events<ReplicaJoined>();
  ASSERT_EQ(joined.size(), 1u);
  EXPECT_EQ(joined[0].id, (ReplicaId{1, 2}));
  EXPECT_EQ(joined[0].stall_s, 0.25) << "the decision came with the last answer";
  EXPECT_EQ(joined[0].joined.bytes, 100);
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

TEST(MembershipService, lets_a_replica_join_at_the_start_of_a_step_that_nobody_has_begun) {
  ServiceBench bench(2);
  bench.start(2);
  bench.close(k1);
  bench.report(k0, 0, 4, {{0, 0, 2}});
  bench.come({1, 2});
  EXPECT_EQ(bench.count<Freeze>(k0), 1u);
  EXPECT_EQ(bench.last<Hold>(k0).step, 1);
  bench.commit(k0, 0);
  bench.report(k0, 1, 4, {});
  EXPECT_EQ(bench.epoch().reason, EpochReason::join);
  EXPECT_EQ(bench.epoch().from_step, 1);
  EXPECT_EQ(behind_in(bench.epoch()), Replicas{1});
  EXPECT_EQ(bench.epoch().parts, (std::vector<Part>{{0, 4, 4}}));
}

TEST(MembershipService, holds_at_a_later_step_when_a_member_has_begun_the_first_one) {
  ServiceBench bench(3);
  bench.start(3);
  bench.close(k2);
  bench.report(k0, 0, 6);
  bench.report(k1, 0, 6);
  bench.come({2, 2});
  EXPECT_EQ(bench.last<Hold>(k1).step, 1);
  bench.say(k0, HoldMissed{.change = bench.last<Hold>(k0).change, .step = 5});
  EXPECT_GT(bench.last<Hold>(k1).step, 5);
  bench.say(k1, HoldMissed{.change = bench.last<Hold>(k0).change - 1, .step = 50});
  EXPECT_EQ(bench.count<Hold>(k1), 2u) << "the answer to an older Hold counts for nothing";
}

TEST(MembershipService, lets_members_go_on_when_the_joiner_has_gone) {
  ServiceBench bench(2);
  bench.start(2);
  bench.close(k1);
  bench.report(k0, 0, 4);
  bench.come({1, 2});
  bench.close({1, 2});
  EXPECT_EQ(bench.last<Resume>(k0).change, bench.last<Hold>(k0).change);
  EXPECT_EQ(bench.epoch().number, 2);
}

TEST(MembershipService, takes_a_joiner_in_with_a_loss_that_comes_first) {
  ServiceBench bench(3);
  bench.start(3);
  bench.close(k2);
  bench.report(k0, 0, 6);
  bench.report(k1, 0, 6);
  bench.come({2, 2});
  bench.close(k1);
  EXPECT_EQ(bench.count<Freeze>(k0), 2u);
  bench.report(k0, 0, 6);
  EXPECT_EQ(replicas_of(bench.epoch()), (Replicas{0, 2}));
  EXPECT_EQ(bench.epoch().reason, EpochReason::lost);
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

TEST(MembershipService, loses_the_replica_whose_gradients_differ) {
  ServiceBench bench(3);
  bench.start(3);
  bench.commit(k1, 0, 99);
  bench.commit(k0, 0, 7);
  bench.commit(k2, 0, 7);
  ASSERT_EQ(bench.events<ReplicaLost>().size(), 1u);
  EXPECT_EQ(bench.events<ReplicaLost>()[0].id, k1);
  EXPECT_EQ(bench.events<ReplicaLost>()[0].reason, LossReason::diverged);
}

TEST(MembershipService, writes_one_commit_a_step_and_refuses_a_false_one) {
  ServiceBench bench(2);
  bench.start(2);
  bench.commit(k0, 0);
  bench.commit(k1, 0);
  EXPECT_EQ(bench.records.size(), 2u);
  bench.say(k1, Commit{{.step = 5, .epoch = 1, .first_sample = 20, .parts = {{1, 20, 4}}}});
  EXPECT_EQ(bench.events<ReplicaLost>().back().reason, LossReason::diverged);
}

TEST(MembershipService, acknowledges_what_outlives_the_host_only) {
  ServiceBench bench(1);
  bench.start(1);
  bench.sync();
  bench.commit(k0, 0);
  bench.say(k0, Beat{.epoch = 1, .step = 1});
  EXPECT_EQ(bench.last<CommitAck>(k0).done, 0);
  bench.sync();
  EXPECT_EQ(bench.last<CommitAck>(k0).done, 1);
}

TEST(MembershipService, stops_all_at_one_step_and_ends_once_its_checkpoint_is_saved) {
  ServiceBench bench(2);
  bench.start(2);
  bench.say(k1, StopWish{});
  EXPECT_EQ(bench.last<Hold>(k0).step, 1);
  bench.commit(k0, 0);
  bench.report(k0, 1, 4);
  EXPECT_EQ(bench.count<StopAt>(k0), 0u);
  bench.report(k1, 1, 4);
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

TEST(MembershipService, that_starts_again_learns_from_the_writer_that_it_is_and_what_it_has_saved) {
  ServiceBench bench(2);
  bench.start(2);
  bench.commit(k0, 0);
  ServiceBench later(2, bench.records);
  for (const ReplicaId& id : {k0, k1}) {
    CheckIn check_in = ServiceBench::check_in(id);
    check_in.done = 1;
    check_in.next_sample = 4;
    check_in.epoch = 1;
    check_in.is_writer = id == k0;
    later.say(id, check_in);
  }
  later.say(k1, Saved{.done = 1});
  EXPECT_TRUE(later.events<CheckpointSaved>().empty());
  later.say(k0, Saved{.done = 1});
  EXPECT_EQ(later.events<CheckpointSaved>().size(), 1u);
}

TEST(MembershipService, does_not_end_the_run_where_the_last_checkpoint_could_not_be_written) {
  ServiceBench bench(1);
  bench.start(1, 99);
  bench.commit(k0, 99);
  bench.report(k0, 100, 4);
  bench.say(k0, Saved{.done = 100, .failure = "the disk is full"});
  EXPECT_FALSE(bench.service().has_ended());
  ASSERT_EQ(bench.events<CheckpointSaved>().size(), 1u);
  EXPECT_TRUE(bench.events<CheckpointSaved>()[0].is_last);
}

TEST(MembershipService, that_starts_again_keeps_a_member_out_whose_steps_are_void) {
  ServiceBench bench(2);
  bench.start(2);
  bench.commit(k0, 0);
  bench.records.push_back(VoidRecord{.void_from = 0, .epoch = 1});
  ServiceBench later(2, bench.records);
  CheckIn check_in = ServiceBench::check_in(k0);
  check_in.done = check_in.epoch = 1;
  later.say(k0, check_in);
  EXPECT_EQ(later.count<Refused>(k0), 1u);
  EXPECT_EQ(later.events<ReplicaLost>().size(), 1u);
  check_in = ServiceBench::check_in(k1);
  check_in.done = 0;
  check_in.epoch = 1;
  later.say(k1, check_in);
  EXPECT_EQ(later.count<Freeze>(k1), 1u) << "it goes on without the other";
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

TEST(MembershipService, waits_for_the_least_number_of_replicas) {
  ServiceBench bench(2, {}, 2);
  bench.start(2);
  bench.close(k1);
  bench.report(k0, 0, 4);
  EXPECT_EQ(bench.epoch().number, 1);
  bench.pass(5, {k0});
  bench.come({1, 2});
  EXPECT_EQ(bench.epoch().number, 2);
  ASSERT_EQ(bench.events<MembersAwaited>().size(), 1u);
  EXPECT_NEAR(bench.events<MembersAwaited>()[0].seconds, 5, 0.2);
}

TEST(MembershipService, does_not_wait_for_a_replica_that_is_given_up) {
  ServiceBench bench(2);
  bench.come(k0);
  bench.service().on_given_up(1, 0);
  bench.say(k0, Beat{});
  EXPECT_EQ(bench.count<Restore>(k0), 1u);
}

CheckIn member_of_epoch_1(ReplicaId id, std::int64_t done) {
  CheckIn check_in = ServiceBench::check_in(id);
  check_in.done = done;
  check_in.next_sample = 4 * done;
  check_in.epoch = 1;
  return check_in;
}

std::vector<Record> first_epoch() {
  ServiceBench bench(2);
  bench.start(2);
  return bench.records;
}

TEST(MembershipService, goes_on_after_a_restart_without_a_change_when_all_members_come_back) {
  ServiceBench bench(2, first_epoch());
  bench.say(k0, member_of_epoch_1(k0, 1));
  bench.say(
      k0, Commit{{.step = 0, .epoch = 1, .first_sample = 0, .parts = {{0, 0, 2}, {1, 2, 2}}, .squares = 7}});
  bench.say(k1, member_of_epoch_1(k1, 1));
  bench.pass(20, {k0, k1});
  EXPECT_EQ(bench.records.size(), 2u) << "the commit it had missed";
  EXPECT_EQ(bench.events<ReplicaLost>().size(), 0u);
  EXPECT_EQ(bench.count<Freeze>(k0), 0u);
}

TEST(MembershipService, waits_after_a_restart_for_the_members_of_the_last_epoch_then_loses_them) {
  ServiceBench bench(2, first_epoch());
  bench.say(k0, member_of_epoch_1(k0, 0));
  bench.pass(4.5, {k0});
  EXPECT_EQ(bench.count<Freeze>(k0), 0u);
  bench.pass(1, {k0});
  EXPECT_EQ(bench.events<ReplicaLost>().back().id, k1);
  EXPECT_EQ(bench.count<Freeze>(k0), 1u);
}

TEST(MembershipService, waits_after_a_restart_for_no_member_that_has_been_started_again) {
  for (const bool has_checked_in : {false, true}) {
    ServiceBench bench(2, first_epoch());
    bench.say(k0, member_of_epoch_1(k0, 0));
    const ReplicaId again{1, k1.incarnation + 1};
    if (has_checked_in)
      bench.come(again);
    else
      bench.service().on_started(again, bench.now);
    bench.pass(0.1, {k0});
    ASSERT_EQ(bench.events<ReplicaLost>().size(), 1u);
    EXPECT_EQ(bench.events<ReplicaLost>()[0].id, k1);
    EXPECT_EQ(bench.count<Freeze>(k0), 1u);
  }
}

TEST(MembershipService, changes_the_epoch_after_a_restart_where_a_member_needs_it) {
  ServiceBench bench(2, first_epoch());
  CheckIn frozen = member_of_epoch_1(k0, 0);
  frozen.needs_change = true;
  bench.say(k0, frozen);
  EXPECT_EQ(bench.count<Freeze>(k0), 0u) << "not before the other is there";
  bench.say(k1, member_of_epoch_1(k1, 0));
  EXPECT_EQ(bench.count<Freeze>(k0) + bench.count<Freeze>(k1), 2u);
}

TEST(MembershipService, refuses_a_checkpoint_beyond_the_ledger) {
  ServiceBench bench(1, first_epoch());
  bench.service().on_exit(k0, 0);
  bench.service().on_exit(k1, 0);
  bench.come({0, 2});
  EXPECT_THROW(bench.say({0, 2}, Restored{7, 28}), kernels::Error);
}

}  // namespace
}  // namespace tenax::resilience
