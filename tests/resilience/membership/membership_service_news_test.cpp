// What the service tells of members, and that it has recorded what they told.
#include "resilience/membership/membership_service.hpp"

#include <gtest/gtest.h>

#include "tests/resilience/membership/service_bench.hpp"

namespace tenax::resilience {
namespace {

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

}  // namespace
}  // namespace tenax::resilience
