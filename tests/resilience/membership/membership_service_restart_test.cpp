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
  bench.say(k0, member_of_epoch_1(k0, 0));
  bench.pass(4.5, {k0});
  EXPECT_EQ(bench.count<Freeze>(k0), 0u);
  bench.pass(1, {k0});
  EXPECT_EQ(bench.events<ReplicaLost>().back().id, k1);
  EXPECT_EQ(bench.count<Freeze>(k0), 1u);
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
