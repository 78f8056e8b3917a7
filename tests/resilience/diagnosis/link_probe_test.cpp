#include "resilience/diagnosis/link_probe.hpp"

#include <gtest/gtest.h>

#include "resilience/diagnosis/probe_sizes.hpp"
#include "tests/comm/thread_ranks.hpp"
#include "tests/resilience/diagnosis/emulated_groups.hpp"

namespace tenax::resilience {
namespace {

/// By the rank that sent.
using Probes = std::vector<std::vector<SentProbe>>;

Probes probe_ring(int ranks, double link_gbps, std::size_t bytes, int times, comm::OnSend on_send = {}) {
  comm::LocalNetwork network(ranks, std::move(on_send));
  std::vector<int> all(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) all[static_cast<std::size_t>(rank)] = rank;
  Probes probes(all.size());
  comm::run_ranks(ranks, kPatience_s, [&](comm::World& world) {
    const auto device = kernels::create_emulated_device({});
    const auto ring = make_ring(network, "data", all, world.rank(), *device, link_gbps);
    LinkProbe probe(*ring, *device, kPatience_s);
    probes[static_cast<std::size_t>(world.rank())] =
        probe.run(probe_rounds(ring->topology(), ranks), bytes, times);
  });
  return probes;
}

double seconds_between(const Probes& probes, int from, int to) {
  for (const SentProbe& sent : probes[static_cast<std::size_t>(from)])
    if (sent.peer == to) return sent.seconds;
  ADD_FAILURE() << from << " sent nothing to " << to;
  return 0;
}

TEST(LinkProbe, tests_a_ring_in_its_order_and_then_the_links_that_it_avoids) {
  constexpr int kRanks = 4;
  constexpr double kSlow_s = 0.02;
  comm::LocalNetwork network(kRanks, delay_between(0, 1, kSlow_s));
  Probes probes(kRanks);
  comm::run_ranks(kRanks, kPatience_s, [&](comm::World& world) {
    const auto device = kernels::create_emulated_device({});
    const auto ring = make_ring(network, "data", {0, 1, 2, 3}, world.rank(), *device, 0);
    ring->prepare_ring({0, 2, 1, 3})->adopt();
    const auto rounds = probe_rounds(*ring);
    ASSERT_EQ(rounds.size(), 3U);
    EXPECT_EQ(rounds[0], (ProbeRound{{0, 2}, {1, 3}}));
    EXPECT_EQ(rounds[1], (ProbeRound{{1, 2}, {0, 3}}));
    EXPECT_EQ(rounds[2], (ProbeRound{{0, 1}, {2, 3}}));
    probes[static_cast<std::size_t>(world.rank())] =
        LinkProbe(*ring, *device, kPatience_s).run(rounds, kTinyProbeBytes, 1);
  });
  EXPECT_GE(seconds_between(probes, 0, 1), kSlow_s);
  for (const auto& sent : probes) EXPECT_EQ(sent.size(), 3U);
}

// tests/bench/link_probe_bench shows that rounds take as long in groups of 64 as in groups of 8.
TEST(LinkProbe, tests_both_directions_of_each_link_of_a_ring_with_the_messages_own_time) {
  constexpr double kMessage_s = 2e-3;
  for (const int ranks : {2, 8, 9, 64, 65}) {
    const Probes probes = probe_ring(ranks, 0.4, 100'000, kProbeTimes);
    for (int rank = 0; rank < ranks; ++rank) {
      EXPECT_EQ(probes[static_cast<std::size_t>(rank)].size(), ranks == 2 ? 1U : 2U);
      EXPECT_GE(seconds_between(probes, rank, (rank + 1) % ranks), 0.99 * kMessage_s);
      EXPECT_GE(seconds_between(probes, (rank + 1) % ranks, rank), 0.99 * kMessage_s);
    }
  }
}

// Ranks 0 and 1 test their link first: what rank 0 said last stands in its queue when it meets rank 4.
TEST(LinkProbe, tells_a_slow_link_from_those_that_its_ranks_test_next) {
  constexpr double kSlow_s = 0.3;
  const Probes probes = probe_ring(5, 0, 4, 1, delay_between(0, 1, kSlow_s));
  EXPECT_GE(seconds_between(probes, 0, 1), 2 * kSlow_s) << "the message and its answer";
  EXPECT_GE(seconds_between(probes, 1, 0), 2 * kSlow_s);
  for (const auto& [from, to] : {std::pair(1, 2), {2, 1}, {2, 3}, {3, 2}, {4, 0}, {0, 4}})
    EXPECT_LT(seconds_between(probes, from, to), kSlow_s) << from << " to " << to;
}

TEST(LinkProbe, sends_real_messages_between_all_pairs_on_the_host) {
  for (const int ranks : {2, 3, 4})
    comm::run_ranks(ranks, kPatience_s, [&](comm::World& world) {
      const auto device = kernels::create_cpu_device();
      const auto stream = device->create_stream();
      const auto group = world.split_communicator("data", 0, world.rank(), *device);
      LinkProbe probe(*group, *device, kPatience_s);
      for (const std::size_t bytes : {std::size_t{4}, std::size_t{1'000'001}, std::size_t{1000}}) {
        const auto sent = probe.run(probe_rounds(group->topology(), ranks), bytes, kProbeTimes);
        EXPECT_EQ(static_cast<int>(sent.size()), ranks - 1);
        for (const SentProbe& each : sent) EXPECT_GT(each.seconds, 0);
      }
      std::vector<float> values(10, 1.0F);
      group->all_reduce(*stream, {values.data(), kernels::DType::f32, {10}}, comm::ReduceOp::sum);
      EXPECT_EQ(values.back(), static_cast<float>(ranks)) << "the group goes on as before";
    });
}

TEST(LinkProbe, waits_no_longer_than_its_deadline) {
  comm::run_ranks(2, kPatience_s, [&](comm::World& world) {
    const auto device = kernels::create_cpu_device();
    const auto group = world.split_communicator("data", 0, world.rank(), *device);
    if (world.rank() == 1) return;
    LinkProbe probe(*group, *device, 0.05);
    EXPECT_THROW(probe.run(probe_rounds(group->topology(), 2), 4, kProbeTimes), kernels::Error);
  });
}

}  // namespace
}  // namespace tenax::resilience
