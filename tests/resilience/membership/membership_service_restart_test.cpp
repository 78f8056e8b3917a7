// A service that is started again, with the ledger of the one before.
#include "resilience/membership/membership_service.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/error.hpp"
#include "tests/resilience/membership/service_bench.hpp"

namespace tenax::resilience {
namespace {

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

TEST(MembershipService, tells_of_every_replica_that_checks_in_though_no_epoch_changes) {
  ServiceBench bench(2, first_epoch());
  for (const ReplicaId& id : {k0, k1}) bench.say(id, member_of_epoch_1(id, 0));
  bench.come({7, 1});
  EXPECT_EQ(bench.records.size(), 1u) << "the epoch is the one before";
  const auto seen = bench.events<ReplicaSeen>();
  ASSERT_EQ(seen.size(), 2u) << "a stranger is none";
  EXPECT_EQ(seen[0].id, k0);
  EXPECT_EQ(seen[1].id, k1);
}

TEST(MembershipService, waits_after_a_restart_for_the_members_of_the_last_epoch_then_loses_them) {
  ServiceBench bench(2, first_epoch());
  bench.service().on_all_told(bench.now);
  bench.say(k0, member_of_epoch_1(k0, 0));
  bench.pass(4.5, {k0});
  EXPECT_EQ(bench.count<Freeze>(k0), 0u);
  bench.pass(1, {k0});
  EXPECT_EQ(bench.events<ReplicaLost>().back().id, k1);
  EXPECT_EQ(bench.count<Freeze>(k0), 1u);
}

TEST(MembershipService, loses_nobody_after_a_restart_before_all_could_find_it) {
  ServiceBench bench(2, first_epoch());
  bench.pass(8, {});
  bench.say(k0, member_of_epoch_1(k0, 3));
  bench.pass(8, {k0});
  bench.service().on_all_told(bench.now);
  bench.pass(4, {k0});
  bench.say(k1, member_of_epoch_1(k1, 3));
  bench.pass(8, {k0, k1});
  EXPECT_TRUE(bench.events<ReplicaLost>().empty());
  EXPECT_EQ(bench.count<Freeze>(k0), 0u) << "the epoch goes on";
}

TEST(MembershipService, waits_after_a_restart_for_no_replica_that_the_run_has_no_more) {
  const ReplicaId again{0, 2};
  ServiceBench bench(1, first_epoch());
  bench.service().on_exit(k0, bench.now);
  bench.come(again);
  EXPECT_EQ(bench.count<Restore>(again), 1u) << "at once";
  bench.say(again, Restored{0, 0});
  EXPECT_EQ(replicas_of(bench.epoch()), Replicas{0});
  const auto lost = bench.events<ReplicaLost>();
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].id, k0);
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

TEST(MembershipService, believes_a_member_after_a_restart_which_data_files_the_run_trains_on) {
  const ReplicaId again{1, 2}, later{1, 3};
  ServiceBench bench(2, first_epoch());
  CheckIn newcomer = ServiceBench::check_in(again);
  newcomer.data = "y";
  bench.say(again, newcomer);
  EXPECT_EQ(bench.count<Refused>(again), 0u) << "nobody has said what it trains on";
  CheckIn member = member_of_epoch_1(k0, 0);
  member.data = "x";
  bench.say(k0, member);
  EXPECT_EQ(bench.count<Refused>(k0), 0u);
  EXPECT_NE(bench.last<Evicted>(again).reason.find("data files are others"), std::string::npos);
  EXPECT_TRUE(bench.service().has_refused(again)) << "no host is to blame";
  EXPECT_EQ(bench.last<Freeze>(k0).epoch, 1) << "it goes on without the other";
  newcomer.id = later;
  bench.say(later, newcomer);
  EXPECT_EQ(bench.count<Refused>(later), 1u);
}

TEST(MembershipService, believes_a_member_after_a_restart_which_loops_the_run_computes_with) {
  const ReplicaId again{1, 2};
  ServiceBench bench(2, first_epoch());
  CheckIn newcomer = ServiceBench::check_in(again);
  newcomer.loops = "more";
  bench.say(again, newcomer);
  CheckIn member = member_of_epoch_1(k0, 0);
  member.loops = "baseline";
  bench.say(k0, member);
  EXPECT_EQ(bench.count<Refused>(k0), 0u);
  EXPECT_EQ(
      bench.last<Evicted>(again).reason,
      "its processors take the loops more, the run's baseline: start all with TENAX_CPU_LOOPS=baseline");
}

/// Of two or three replicas, in an epoch in which they have equal shares.
CommitRecord commit_of(std::int64_t epoch, std::int64_t step, std::uint64_t state, int replicas = 3) {
  CommitRecord commit{.step = step, .epoch = epoch, .first_sample = 6 * step, .squares = 7};
  const int share = 6 / replicas;
  for (int replica = 0; replica < replicas; ++replica)
    commit.parts.push_back({replica, 6 * step + share * replica, share});
  commit.digest.emplace().parts[0].add(state, 1);
  return commit;
}

// It may have fetched its state from one that is wrong since the slice was compared last.
TEST(MembershipService, gives_no_vote_on_a_state_after_a_restart_to_who_came_shortly_before) {
  const ReplicaId again{2, 2};
  std::vector<Record> records = {EpochRecord{0, 1, 0, {{k0, "h"}, {k1, "h"}, {k2, "h"}}, EpochReason::start}};
  for (std::int64_t step = 0; step < 6; ++step) records.push_back(commit_of(1, step, 1));
  records.push_back(EpochRecord{1, 2, 6, {{k0, "h"}, {k1, "h"}, {again, "h"}}, EpochReason::lost});
  for (std::int64_t step = 6; step < 8; ++step) records.push_back(commit_of(2, step, 1));
  ServiceBench bench(3, records);
  for (const ReplicaId& id : {k0, k1, again}) {
    CheckIn check_in = ServiceBench::check_in(id);
    check_in.done = 8;
    check_in.epoch = 2;
    bench.say(id, check_in);
  }
  for (const ReplicaId& id : {k0, k1, again}) bench.say(id, Commit{commit_of(2, 8, id == k1 ? 1 : 9)});
  ASSERT_EQ(bench.events<StateCorrupt>().size(), 1u);
  EXPECT_TRUE(bench.events<StateCorrupt>()[0].is_tie) << "k0 is wrong, and the new one has a copy of it";
}

// Either may have changed since the new one came: one vote against none says nothing.
TEST(MembershipService, names_nobody_after_a_restart_where_one_of_two_came_shortly_before) {
  const ReplicaId again{1, 2};
  std::vector<Record> records = {EpochRecord{0, 1, 0, {{k0, "h"}, {k1, "h"}}, EpochReason::start}};
  for (std::int64_t step = 0; step < 6; ++step) records.push_back(commit_of(1, step, 1, 2));
  records.push_back(EpochRecord{1, 2, 6, {{k0, "h"}, {again, "h"}}, EpochReason::join});
  for (std::int64_t step = 6; step < 8; ++step) records.push_back(commit_of(2, step, 1, 2));
  ServiceBench bench(2, records);
  for (const ReplicaId& id : {k0, again}) {
    CheckIn check_in = ServiceBench::check_in(id);
    check_in.done = 8;
    check_in.epoch = 2;
    bench.say(id, check_in);
  }
  for (const ReplicaId& id : {k0, again}) bench.say(id, Commit{commit_of(2, 8, id == k0 ? 9 : 1, 2)});
  ASSERT_EQ(bench.events<StateCorrupt>().size(), 1u);
  EXPECT_TRUE(bench.events<StateCorrupt>()[0].is_tie);
  EXPECT_TRUE(bench.events<StateCorrupt>()[0].distrusts_checkpoints);
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

TEST(MembershipService, that_starts_again_needs_no_more_replicas_than_the_one_before) {
  ServiceBench before(3);
  before.start(3);
  ServiceBench bench(3, before.records);
  for (const ReplicaId& id : {k0, k1}) bench.say(id, member_of_epoch_1(id, 0));
  bench.close(k0);
  bench.close(k1);
  bench.service().on_exit(k2, bench.now);
  bench.pass(2, {});
  const ReplicaId again{0, 2};
  bench.come(again);
  EXPECT_EQ(bench.count<Restore>(again), 1u) << "min_replicas are there";
  bench.say(again, Restored{0, 0});
  EXPECT_EQ(replicas_of(bench.epoch()), Replicas{0});
  EXPECT_EQ(bench.events<MembersAwaited>().size(), 1u);
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
