#include "resilience/membership/membership_service.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/resilience/membership/service_bench.hpp"

namespace tenax::resilience {
namespace {

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

TEST(MembershipService, writes_one_commit_a_step_and_refuses_a_false_one) {
  ServiceBench bench(2);
  bench.start(2);
  bench.commit(k0, 0);
  bench.commit(k1, 0);
  EXPECT_EQ(bench.records.size(), 2u);
  bench.say(k1, Commit{{.step = 5, .epoch = 1, .first_sample = 20, .parts = {{1, 20, 4}}}});
  EXPECT_EQ(bench.events<ReplicaLost>().back().reason, LossReason::diverged);
}

}  // namespace
}  // namespace tenax::resilience
