// Collectives over NCCL, with a fake one in its place.
#include <nccl.h>

#include "comm/nccl/nccl_world.hpp"
#include "tests/comm/nccl/nccl_ranks.hpp"

namespace tenax::comm {
namespace {

using fake_nccl::Network;
using Values = DeviceValues<float>;

class NcclCommunicatorTest : public testing::TestWithParam<int> {
 protected:
  static void run(const std::function<void(const DeviceRank&)>& body, double deadline_s = 60) {
    run_on_devices(
        GetParam(), deadline_s, [&](World& world, kernels::Device& device, kernels::Stream& stream) {
          const auto communicator =
              create_nccl_communicator("test", world.split_endpoint(0, world.rank()), device, {deadline_s});
          body({device, *communicator, stream});
        });
  }
};

TEST_P(NcclCommunicatorTest, sums_what_all_ranks_bring) {
  run([](const DeviceRank& rank) { expect_all_device_collectives<float>(rank); });
}
TEST_P(NcclCommunicatorTest, sums_fp64) {
  run([](const DeviceRank& rank) { expect_all_device_collectives<double>(rank); });
}
TEST_P(NcclCommunicatorTest, sums_bf16_in_fp32_in_rank_order_and_rounds_once) {
  run([](const DeviceRank& rank) { expect_all_device_collectives<kernels::bf16_t>(rank); });
}
TEST_P(NcclCommunicatorTest, sums_bf16_of_more_than_one_part) {
  run([](const DeviceRank& rank) {
    expect_device_all_reduce<kernels::bf16_t>(rank, rank.communicator.size() * (2 << 20) + 4099, 5,
                                              ReduceOp::sum);
  });
}
TEST_P(NcclCommunicatorTest, carries_many_collectives_at_once) {
  run([](const DeviceRank& rank) { expect_many_device_collectives(rank); });
}

/// Sums of whole numbers are the same in any order.
void expect_exact_pieces(const DeviceRank& rank) {
  constexpr std::size_t kPiece = 1000;
  const auto ranks = static_cast<std::size_t>(rank.communicator.size()),
             me = static_cast<std::size_t>(rank.communicator.rank());
  std::vector<float> mine(kPiece * ranks);
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = static_cast<float>(i * (me + 1));
  Values values(rank.device, rank.stream, mine);
  rank.communicator.start_reduce_scatter(rank.stream, values.tensor())->order_before(rank.stream, soon());
  values.fetch(rank.stream);
  const std::vector<float> sums = values.values(rank.stream);
  for (std::size_t i = kPiece * me; i < kPiece * (me + 1); ++i)
    ASSERT_EQ(sums[i], static_cast<float>(i * ranks * (ranks + 1) / 2)) << "element " << i;
}

TEST_P(NcclCommunicatorTest, in_another_order_every_rank_has_the_same_piece) {
  if (GetParam() == 1) GTEST_SKIP() << "a group of one has no NCCL";
  run([](const DeviceRank& rank) {
    const std::vector<int> first = rank.communicator.ring_order();
    std::vector<int> turned = first, crossed = first;
    std::rotate(turned.begin(), turned.begin() + 1, turned.end());
    std::swap(crossed.front(), crossed[1]);
    for (const std::vector<int>& order : {turned, crossed}) {
      rank.communicator.prepare_ring(order)->adopt();
      EXPECT_EQ(rank.communicator.ring_order(), order);
      expect_exact_pieces(rank);
      DeviceAllGather<float>(rank, 1000, 1).expect_result();
      expect_device_all_reduce<kernels::bf16_t>(rank, 1000, 2, ReduceOp::sum);
      DeviceReduceScatter<kernels::bf16_t>(rank, 1000, 3).expect_result();
    }
    rank.communicator.prepare_ring(first)->adopt();
    expect_all_device_collectives<float>(rank);
  });
}

TEST_P(NcclCommunicatorTest, names_who_does_not_come_when_the_order_changes) {
  if (GetParam() < 3) GTEST_SKIP() << "of two there is one order";
  run_on_devices(GetParam(), kShort_s, [](World& world, kernels::Device& device, kernels::Stream&) {
    const auto communicator =
        create_nccl_communicator("test", world.split_endpoint(0, world.rank()), device, {kShort_s, kShort_s});
    std::vector<int> order = communicator->ring_order();
    std::swap(order[0], order[1]);
    fake_nccl::set_network(world.rank() == 0 ? Network::healthy : Network::faulty);
    expect_error([&] { communicator->prepare_ring(order); },
                 {world.rank() == 0 ? "joining NCCL" : "remote process exited"});
  });
}

// On rank 0 nothing went wrong. Another change would fail as well.
TEST_P(NcclCommunicatorTest, stays_in_its_order_where_nobody_adopts_another) {
  if (GetParam() == 1) GTEST_SKIP() << "a group of one has no NCCL";
  run([](const DeviceRank& rank) {
    const std::vector<int> first = rank.communicator.ring_order();
    std::vector<int> order = first;
    std::swap(order[0], order[1]);
    EXPECT_NE(rank.communicator.prepare_ring(order), nullptr);
    EXPECT_EQ(rank.communicator.ring_order(), first);
    expect_exact_pieces(rank);
    expect_all_device_collectives<float>(rank);
    expect_error([&] { rank.communicator.prepare_ring(order); }, {"stays in its order"});
    expect_exact_pieces(rank);
  });
}

TEST_P(NcclCommunicatorTest, names_the_others_when_the_deadline_passes_and_lets_streams_go_on) {
  if (GetParam() == 1) GTEST_SKIP() << "a group of one waits for nobody";
  run(
      [](const DeviceRank& rank) {
        expect_device_all_reduce<float>(rank, 100, 1, ReduceOp::sum);
        fake_nccl::set_network(Network::silent);
        Values values(rank.device, rank.stream, filled(static_cast<std::size_t>(GetParam()), 1));
        rank.communicator.all_reduce(rank.stream, values.tensor(), ReduceOp::sum);
        rank.communicator.check();
        rank.stream.synchronize(soon());
        const int other = rank.communicator.rank() == 0 ? 1 : 0;
        const std::vector<std::string> parts = {"all_reduce of", "in the test group",
                                                "for rank " + std::to_string(other), "gave up"};
        expect_error([&] { rank.communicator.check(); }, parts);
        expect_error([&] { rank.communicator.start_all_gather(rank.stream, values.tensor()); }, parts);
      },
      kShort_s);
}

TEST_P(NcclCommunicatorTest, what_stands_behind_work_that_takes_long_is_not_late) {
  run(
      [](const DeviceRank& rank) {
        const auto gate = rank.device.create_flag();
        Values values(rank.device, rank.stream, filled(static_cast<std::size_t>(GetParam()), 1));
        rank.stream.wait(*gate, 1);
        rank.communicator.all_reduce(rank.stream, values.tensor(), ReduceOp::sum);
        std::this_thread::sleep_for(std::chrono::duration<double>(1.5 * kShort_s));
        gate->set(1);
        values.fetch(rank.stream);
        EXPECT_EQ(values.values(rank.stream), filled(static_cast<std::size_t>(GetParam()), GetParam()));
        rank.communicator.check();
      },
      kShort_s);
}

TEST_P(NcclCommunicatorTest, an_error_that_nccl_reports_ends_what_is_under_way) {
  if (GetParam() == 1) GTEST_SKIP() << "a group of one has no NCCL";
  run([](const DeviceRank& rank) {
    expect_device_all_reduce<float>(rank, 100, 1, ReduceOp::sum);
    fake_nccl::set_network(Network::silent);
    Values values(rank.device, rank.stream, filled(static_cast<std::size_t>(GetParam()), 1));
    const TransferPtr transfer = rank.communicator.start_reduce_scatter(rank.stream, values.tensor());
    fake_nccl::set_network(Network::faulty);
    expect_error([&] { transfer->wait(soon()); }, {"reduce_scatter of", "remote process exited"});
  });
}

TEST_P(NcclCommunicatorTest, a_device_that_fails_ends_what_is_under_way_and_lets_streams_go_on) {
  if (GetParam() == 1) GTEST_SKIP() << "a group of one has no NCCL";
  run([](const DeviceRank& rank) {
    expect_device_all_reduce<float>(rank, 100, 1, ReduceOp::sum);
    fake_nccl::set_network(Network::silent);
    Values values(rank.device, rank.stream, filled(static_cast<std::size_t>(GetParam()), 1));
    rank.communicator.all_reduce(rank.stream, values.tensor(), ReduceOp::sum);
    fake_nccl::set_network(Network::broken);
    rank.stream.synchronize(soon());
    expect_error([&] { rank.communicator.check(); }, {"ncclCommGetAsyncError"});
  });
}

TEST_P(NcclCommunicatorTest, a_rank_that_never_joins_is_named) {
  if (GetParam() == 1) GTEST_SKIP() << "a group of one waits for nobody";
  run_on_devices(GetParam(), kShort_s, [](World& world, kernels::Device& device, kernels::Stream&) {
    fake_nccl::set_network(world.rank() == 0 ? Network::healthy : Network::faulty);
    expect_error(
        [&] {
          create_nccl_communicator("test", world.split_endpoint(0, world.rank()), device,
                                   {kShort_s, kShort_s});
        },
        {world.rank() == 0 ? "joining NCCL" : "remote process exited"});
  });
}

std::string parameter_name(const testing::TestParamInfo<int>& info) {
  return "on_" + std::to_string(info.param);
}
INSTANTIATE_TEST_SUITE_P(, NcclCommunicatorTest, testing::Range(1, 5), parameter_name);

TEST(NcclObstacle, ranks_on_one_gpu_learn_alike_who_shares_it) {
  run_on_devices(3, 30, [](World& world, kernels::Device& device, kernels::Stream&) {
    const auto job = world.control_group();
    EXPECT_NE(nccl_obstacle(*job, device, world.host()).find("rank 0 and rank 1 share the GPU"),
              std::string::npos);
    const std::string host = "host " + std::to_string(world.rank());
    EXPECT_EQ(nccl_obstacle(*job, device, host), "");
    const auto cpu = kernels::create_cpu_device();
    EXPECT_EQ(nccl_obstacle(*job, world.rank() == 2 ? *cpu : device, host), "rank 2 (host 2) has no GPU");
  });
}

NcclUse data_overlaps() { return {.overlapping = {"data"}}; }

TEST(NcclWorld, bounds_and_lends_what_groups_that_overlap_with_passes_may_hold) {
  run_ranks(2, 30, [](World& inner) {
    kernels::test::StandInUse use;
    const auto device = kernels::test::create_stand_in({.use = &use});
    const fake_nccl::OnDevice on_device(*device);
    NcclWorld world(inner, {30}, data_overlaps());
    const auto tensor = world.split_communicator("tensor", 0, world.rank(), *device);
    EXPECT_EQ(use.lent, 0) << "passes wait for it";
    EXPECT_EQ(fake_nccl::max_blocks(), NCCL_CONFIG_UNDEF_INT);
    auto data = world.split_communicator("data", 0, world.rank(), *device);
    EXPECT_EQ(use.lent, 8);
    EXPECT_EQ(fake_nccl::max_blocks(), 8);
    data->prepare_ring({1, 0})->adopt();
    EXPECT_EQ(use.lent, 8) << "in another order, too";
    EXPECT_EQ(fake_nccl::max_blocks(), 8);
    const auto alone = world.split_communicator("data", world.rank(), 0, *device);
    EXPECT_EQ(use.lent, 8) << "a group of one has no NCCL";
    data.reset();
    EXPECT_EQ(use.lent, 0);
  });
}

TEST(NcclWorld, pins_the_order_of_sums_where_that_is_asked_for) {
  run_ranks(1, 30, [](World& inner) {
    unsetenv("NCCL_ALGO");
    const NcclWorld fast(inner, {30}, {});
    EXPECT_EQ(std::getenv("NCCL_ALGO"), nullptr);
    const NcclWorld deterministic(inner, {30}, {.keeps_order = true});
    EXPECT_STREQ(std::getenv("NCCL_ALGO"), "Ring");
  });
}

TEST(Nccl, says_what_was_compiled_in) {
  EXPECT_TRUE(nccl_version().starts_with("NCCL 2.")) << nccl_version();
}

TEST(Nccl, refuses_a_library_that_is_too_old) {
  EXPECT_EQ(nccl_lack(), "");
  fake_nccl::set_version(21803);
  EXPECT_EQ(nccl_lack(), "has NCCL 2.18.3, and 2.19.0 or newer is needed");
  fake_nccl::set_version(21900);
  EXPECT_EQ(nccl_lack(), "");
}

TEST(Nccl, pins_algorithm_and_protocol_unless_the_environment_names_them) {
  unsetenv("NCCL_ALGO");
  setenv("NCCL_PROTO", "LL128", 1);
  pin_nccl_order();
  EXPECT_STREQ(std::getenv("NCCL_ALGO"), "Ring");
  EXPECT_STREQ(std::getenv("NCCL_PROTO"), "LL128");
}

}  // namespace
}  // namespace tenax::comm
