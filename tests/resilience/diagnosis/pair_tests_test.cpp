// Ranks that are threads test links which training does not use.
#include "resilience/diagnosis/pair_tests.hpp"

#include <gtest/gtest.h>

#include "comm/connection.hpp"
#include "tests/comm/thread_ranks.hpp"
#include "tests/resilience/diagnosis/emulated_groups.hpp"
#include "tests/resilience/faults/injected_ranks.hpp"

namespace tenax::resilience {
namespace {

using parallel::GroupKind;

constexpr int kPairRanks = 6;

/// A busy machine wakes threads late: what takes three times as long as its like is slow.
PairTestRequest pair_request() {
  PairTestRequest request;
  request.pairs = {{.group = GroupKind::data, .rank = 0, .other = 2},
                   {.group = GroupKind::data, .rank = 1, .other = 3},
                   {.group = GroupKind::data, .rank = 2, .other = 4, .round = 1}};
  request.tests.seconds = 2;
  request.tests.suspect = 3;
  request.tests.probe_mb = {0.2};
  return request;
}

struct Trouble {
  bool is_first_broken = false;
  double first_gbps = kLink_gbps;  ///< of the link between ranks 0 and 2
};

/// Rank 0's answer. Rank 5 is in no pair.
std::vector<PairResult> tested(comm::OnSend on_send, Trouble trouble = {},
                               const PairTestRequest& request = pair_request()) {
  comm::LocalNetwork network(kPairRanks, std::move(on_send));
  std::vector<PairResult> results;
  comm::run_ranks(kPairRanks, kPatience_s, [&](comm::World& world) {
    const int rank = world.rank();
    const auto device = kernels::create_emulated_device({});
    const auto control = world.control_group();
    const auto join = [&](const PairTest* test) -> parallel::PairLink {
      if (!test) return {};
      if (trouble.is_first_broken && test->round == 0 && test->rank == 0)
        throw kernels::Error(kernels::Scope::link, "no connection");
      const std::string name = "probe." + std::to_string(test->round) + "." + std::to_string(test->rank);
      return {.group = make_ring(network, name, {test->rank, test->other}, rank == test->rank ? 0 : 1,
                                 *device, test->rank == 0 ? trouble.first_gbps : kLink_gbps)};
    };
    const auto mine = test_pairs(rank == 0 ? request : PairTestRequest{},
                                 {.control = *control, .device = *device, .join = join, .deadline_s = 2});
    if (rank == 0) results = mine;
  });
  return results;
}

TEST(PairTests, tell_a_slow_link_from_healthy_ones) {
  const auto results = tested(slow_between(0, 2));
  ASSERT_EQ(results.size(), 3U);
  EXPECT_TRUE(results[0].is_slow);
  EXPECT_GT(results[0].factor, 3);
  EXPECT_LT(results[2].factor, results[0].factor / 2) << "as it may seem on a busy machine";
}

TEST(PairTests, tell_that_a_link_has_healed) {
  for (int trial = 0; trial < 3; ++trial) {
    const auto results = tested(slow_between(-1, -1));
    ASSERT_EQ(results.size(), 3U);
    if (!results[0].is_slow) return;
  }
  FAIL() << "a healthy link was slow three times";
}

TEST(PairTests, go_on_without_links_that_cannot_be_made) {
  const auto results = tested(slow_between(-1, -1), {.is_first_broken = true});
  EXPECT_TRUE(results.empty()) << "one link alone has none to be compared with";
}

// Each alone in its round, for which the same time suffices to send less over the slow one.
TEST(PairTests, tell_a_link_of_little_bandwidth_though_no_other_is_tested_beside_it) {
  PairTestRequest request = pair_request();
  for (std::size_t i = 0; i < request.pairs.size(); ++i) request.pairs[i].round = static_cast<int>(i);
  request.tests.probe_mb = {1};
  request.tests.seconds = 3;
  request.tests.data_bytes_per_s = kLink_gbps / 8 * 1e9 / 6;
  for (const int slow_round : {0, 1}) {
    std::swap(request.pairs[0].round, request.pairs[1].round);
    const auto results = tested(slow_between(-1, -1), {.first_gbps = kLink_gbps / 6}, request);
    ASSERT_EQ(results.size(), 3U);
    EXPECT_TRUE(results[0].is_slow) << slow_round;
    EXPECT_GT(results[0].factor, 3);
  }
}

// Over MPI's links, or what stands for them here.
TEST(PairTests, join_ranks_on_the_host_by_links_that_training_has_not) {
  LinkFault usual = slow(kWay_s);
  usual.links = {{0, 2}, {1, 3}, {2, 3}};
  LinkFault one = slow(kSlowWay_s - kWay_s);
  one.links = {{0, 2}};
  run_injected(4, {usual, one}, [&](World& world, FaultInjector& injector) {
    const auto device = kernels::create_cpu_device();
    const auto control = world.control_group();
    const std::vector<comm::Peer> nobody;
    const parallel::PipelineContext context{
        .options = {}, .world = world, .device = *device, .peers = nobody};
    injector.begin_step(0);
    PairTestRequest asked = pair_request();
    asked.pairs.back() = {.group = GroupKind::data, .rank = 2, .other = 3, .round = 1};
    const auto join = [&](const PairTest* test) {
      if (!test) return parallel::join_pair(context, nullptr, {}, kPatience_s);
      const parallel::JoinedPair pair{.kind = test->group, .rank = test->rank, .other = test->other};
      return parallel::join_pair(context, &pair, "probe", kPatience_s);
    };
    const auto results =
        test_pairs(asked, {.control = *control, .device = *device, .join = join, .deadline_s = kPatience_s});
    ASSERT_EQ(results.size(), 3U);
    EXPECT_TRUE(results[0].is_slow);
    EXPECT_GT(results[0].factor, 3);
    EXPECT_LT(results[1].factor, results[0].factor / 2);
  });
}

}  // namespace
}  // namespace tenax::resilience
