// Warm spares at the membership service.
#include "tests/resilience/membership/service_bench.hpp"

namespace tenax::resilience {
namespace {

/// The links of two spares.
constexpr ReplicaId kFirst{8, 3}, kSecond{9, 3};

TEST(WarmSpares, are_told_of_when_they_are_ready_and_answered) {
  ServiceBench bench(2);
  bench.start(2);
  bench.say(kFirst, SpareReady{0});
  ASSERT_EQ(bench.events<SpareSeen>().size(), 1u);
  EXPECT_TRUE(bench.events<SpareSeen>()[0].is_ready);
  bench.pass(3, {k0, k1, kFirst});
  EXPECT_EQ(bench.events<SpareSeen>().size(), 1u) << "it is heard of";
  EXPECT_GE(bench.count<CommitAck>(kFirst), 20u);
  EXPECT_EQ(bench.events<EpochBegan>().size(), 1u) << "it is no member";
}

TEST(WarmSpares, take_the_place_that_they_are_called_to_once) {
  ServiceBench bench(2);
  bench.start(2);
  bench.say(kFirst, SpareReady{0});
  bench.say(kSecond, SpareReady{1});
  EXPECT_TRUE(bench.service().call_spare(1, {1, 2}));
  bench.pass(0.1, {k0, k1});
  EXPECT_EQ(bench.last<TakePlace>(kSecond).id, (ReplicaId{1, 2}));
  EXPECT_EQ(bench.count<TakePlace>(kFirst), 0u);
  EXPECT_FALSE(bench.service().call_spare(1, {1, 3}));
  bench.close(kSecond);
  EXPECT_EQ(bench.events<SpareSeen>().size(), 2u) << "it is no spare any more that could vanish";
}

TEST(WarmSpares, that_vanish_or_are_silent_cannot_be_called) {
  ServiceBench bench(2);
  bench.start(2);
  bench.say(kFirst, SpareReady{0});
  bench.say(kSecond, SpareReady{1});
  bench.close(kFirst);
  bench.pass(1.5, {k0, k1});
  const auto seen = bench.events<SpareSeen>();
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen[2].spare, 0);
  EXPECT_EQ(seen[3].spare, 1);
  EXPECT_FALSE(seen[2].is_ready || seen[3].is_ready);
  EXPECT_FALSE(bench.service().call_spare(0, {1, 2}));
  EXPECT_FALSE(bench.service().call_spare(1, {1, 2}));
  EXPECT_EQ(bench.count<Refused>(kSecond), 1u);
}

TEST(WarmSpares, started_anew_take_the_place_of_an_earlier_start) {
  ServiceBench bench(2);
  bench.start(2);
  bench.say(kFirst, SpareReady{0});
  bench.say(kSecond, SpareReady{0});
  bench.close(kFirst);
  EXPECT_TRUE(bench.service().call_spare(0, {1, 2}));
  bench.pass(0.1, {k0, k1});
  EXPECT_EQ(bench.count<TakePlace>(kSecond), 1u);
}

}  // namespace
}  // namespace tenax::resilience
