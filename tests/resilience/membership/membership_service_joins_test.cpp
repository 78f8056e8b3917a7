// Replicas that come, and those that are awaited.
#include "resilience/membership/membership_service.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/resilience/membership/service_bench.hpp"

namespace tenax::resilience {
namespace {

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

CheckIn with_data(ReplicaId id, const std::string& data) {
  CheckIn check_in = ServiceBench::check_in(id);
  check_in.data = data;
  return check_in;
}

TEST(MembershipService, refuses_a_replica_that_has_found_other_data_files_than_the_run_trains_on) {
  const ReplicaId again{1, 2}, later{1, 3};
  ServiceBench bench(2);
  for (const ReplicaId& id : {k0, k1}) bench.say(id, with_data(id, "x"));
  for (const ReplicaId& id : {k0, k1}) bench.say(id, Restored{0, 0});
  bench.close(k1);
  bench.report(k0, 0, 4);
  bench.say(again, with_data(again, "y"));
  EXPECT_NE(bench.last<Refused>(again).reason.find("data files are others"), std::string::npos);
  EXPECT_EQ(bench.count<Hold>(k0), 0u) << "nobody waits for it";
  bench.say(later, with_data(later, "x"));
  EXPECT_EQ(bench.count<Hold>(k0), 1u);
}

CheckIn with_loops(ReplicaId id, const std::string& loops) {
  CheckIn check_in = ServiceBench::check_in(id);
  check_in.loops = loops;
  return check_in;
}

TEST(MembershipService, refuses_a_replica_whose_processors_take_other_loops_and_says_which_all_can_take) {
  for (const bool has_fewer : {true, false}) {
    const std::string one = has_fewer ? "baseline" : "more", others = has_fewer ? "more" : "baseline";
    ServiceBench bench(2);
    bench.say(k0, with_loops(k0, others));
    bench.say(k1, with_loops(k1, one));
    EXPECT_EQ(bench.last<Refused>(k1).reason, "its processors take the loops " + one + ", the run's " +
                                                  others + ": start all with TENAX_CPU_LOOPS=baseline");
    const ReplicaId again{1, 2};
    bench.say(again, with_loops(again, others));
    EXPECT_EQ(bench.count<Refused>(again), 0u);
    EXPECT_EQ(bench.count<Restore>(again), 1u);
  }
}

TEST(MembershipService, begins_with_the_loops_of_most_replicas_whoever_comes_first) {
  const ReplicaId k2{2, 1}, k1_again{1, 2}, k0_again{0, 2};
  ServiceBench bench(3);
  bench.say(k0, with_loops(k0, "baseline"));
  bench.say(k1, with_loops(k1, "more"));
  EXPECT_EQ(bench.count<Refused>(k1), 1u);
  bench.say(k2, with_loops(k2, "more"));
  EXPECT_EQ(bench.count<Refused>(k2), 0u);
  EXPECT_NE(bench.last<Evicted>(k0).reason.find("the run's more"), std::string::npos);
  bench.say(k1_again, with_loops(k1_again, "more"));
  EXPECT_EQ(bench.count<Refused>(k1_again), 0u);
  bench.say(k0_again, with_loops(k0_again, "baseline"));
  EXPECT_EQ(bench.count<Refused>(k0_again), 1u) << "one of three";
}

TEST(MembershipService, refuses_a_replica_that_computes_on_another_kind_of_device) {
  ServiceBench bench(2);
  bench.say(k0, with_loops(k0, ""));
  bench.say(k1, with_loops(k1, "baseline"));
  EXPECT_NE(bench.last<Refused>(k1).reason.find("device.kind"), std::string::npos);
}

TEST(MembershipService, knows_which_starts_it_has_refused_for_what_is_no_fault_of_a_host) {
  const ReplicaId other_files{1, 2}, other_build{1, 3}, other_loops{1, 4}, welcome{1, 5};
  ServiceBench bench(2);
  const auto is_refused = [&](const CheckIn& check_in) {
    bench.say(check_in.id, check_in);
    EXPECT_EQ(bench.count<Refused>(check_in.id), check_in.id == welcome ? 0u : 1u);
    return bench.service().has_refused(check_in.id);
  };
  bench.say(k0, with_loops(k0, "baseline"));
  bench.say(k1, with_loops(k1, "baseline"));
  bench.close(k1);
  EXPECT_FALSE(is_refused(with_loops(k1, "baseline"))) << "it was lost";
  EXPECT_TRUE(is_refused(with_data(other_files, "y")));
  CheckIn newer = with_loops(other_build, "baseline");
  newer.build = "c";
  EXPECT_TRUE(is_refused(newer));
  EXPECT_FALSE(bench.service().has_refused(other_files)) << "the newest alone";
  EXPECT_FALSE(is_refused(with_loops(other_loops, "more"))) << "another host may do";
  EXPECT_FALSE(is_refused(with_loops(welcome, "baseline")));
}

TEST(MembershipService, lets_replicas_train_on_the_data_files_there_are_where_none_is_left_that_knew_others) {
  const ReplicaId again0{0, 2}, again1{1, 2};
  ServiceBench bench(2);
  for (const ReplicaId& id : {k0, k1}) bench.say(id, with_data(id, "x"));
  for (const ReplicaId& id : {k0, k1}) bench.say(id, Restored{0, 0});
  for (const ReplicaId& id : {k0, k1}) bench.close(id);
  for (const ReplicaId& id : {again0, again1}) bench.say(id, with_data(id, "y"));
  for (const ReplicaId& id : {again0, again1}) bench.say(id, Restored{0, 0});
  EXPECT_EQ(bench.epoch().number, 2);
  EXPECT_EQ(replicas_of(bench.epoch()), (Replicas{0, 1}));
}

TEST(MembershipService, does_not_wait_for_a_replica_that_is_given_up) {
  ServiceBench bench(2);
  bench.come(k0);
  bench.service().on_given_up(1, 0);
  bench.say(k0, Beat{});
  EXPECT_EQ(bench.count<Restore>(k0), 1u);
}

}  // namespace
}  // namespace tenax::resilience
