// Replicas that come, and those that are awaited.
#include "resilience/membership/membership_service.hpp"

#include <gtest/gtest.h>

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

TEST(MembershipService, does_not_wait_for_a_replica_that_is_given_up) {
  ServiceBench bench(2);
  bench.come(k0);
  bench.service().on_given_up(1, 0);
  bench.say(k0, Beat{});
  EXPECT_EQ(bench.count<Restore>(k0), 1u);
}

}  // namespace
}  // namespace tenax::resilience
