// Collectives of a device apart from the host, on ranks that are threads and devices that are stand-ins.
#include "comm/staged/staged.hpp"

#include <gtest/gtest.h>

#include "kernels/error.hpp"
#include "tests/comm/device_collective_checks.hpp"
#include "tests/comm/thread_ranks.hpp"
#include "tests/kernels/async/stand_in.hpp"

namespace tenax::comm {
namespace {

using kernels::bf16_t;

class StagedCommunicatorTest : public testing::TestWithParam<int> {
 protected:
  static void run(const std::function<void(const DeviceRank&)>& body, double deadline_s = 60) {
    run_ranks(GetParam(), deadline_s, [&](World& world) {
      const auto device = kernels::test::create_stand_in(
          {.jitter_us = 200, .seed = static_cast<std::uint64_t>(world.rank())});
      const auto stream = device->create_stream();
      const auto communicator = world.split_communicator("test", 0, world.rank(), *device);
      body({*device, *communicator, *stream});
    });
  }
};

TEST_P(StagedCommunicatorTest, sums_fp32_in_rank_order_bit_by_bit) {
  run([](const DeviceRank& rank) { expect_all_device_collectives<float>(rank); });
}
TEST_P(StagedCommunicatorTest, sums_fp64_in_rank_order_bit_by_bit) {
  run([](const DeviceRank& rank) { expect_all_device_collectives<double>(rank); });
}
TEST_P(StagedCommunicatorTest, sums_bf16_in_fp32_and_rounds_once) {
  run([](const DeviceRank& rank) { expect_all_device_collectives<bf16_t>(rank); });
}
TEST_P(StagedCommunicatorTest, carries_more_collectives_at_once_than_fit_into_host_memory) {
  run([](const DeviceRank& rank) {
    for (int round = 0; round < 3; ++round) expect_many_device_collectives(rank);
  });
}

TEST_P(StagedCommunicatorTest, another_stream_may_go_on_with_the_result) {
  if (GetParam() == 1) GTEST_SKIP() << "a group of one does nothing, in no stream";
  run([](const DeviceRank& rank) {
    const auto other = rank.device.create_stream();
    Communicator& group = rank.communicator;
    DeviceValues<float> values(rank.device, rank.stream,
                               contribution<float>(group.rank(), 1000 * group.size(), 1));
    TransferPtr transfer = group.start_reduce_scatter(rank.stream, values.tensor());
    transfer->order_before(*other, kernels::Deadline::after_s(60));
    transfer.reset();
    values.fetch(*other);
    expect_same_bits(values.values(*other),
                     reduced<float>(group.size(), 1000 * group.size(), 1, ReduceOp::sum), 1000 * group.rank(),
                     1000, "the own piece");
  });
}

TEST_P(StagedCommunicatorTest, names_a_silent_rank_when_the_deadline_passes) {
  const int silent = GetParam() - 1;
  if (silent == 0) GTEST_SKIP() << "a group of one waits for nobody";
  run(
      [&](const DeviceRank& rank) {
        if (rank.communicator.rank() == silent) return;
        DeviceValues<float> values(rank.device, rank.stream,
                                   contribution<float>(rank.communicator.rank(), 10 * GetParam(), 1));
        const auto expect_error = [&](const std::function<void()>& work, const std::string& part) {
          try {
            work();
            ADD_FAILURE() << "ended without rank " << silent;
          } catch (const kernels::Error& error) {
            EXPECT_EQ(error.scope(), kernels::Scope::link);
            EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
          }
        };
        const TransferPtr scatter = rank.communicator.start_reduce_scatter(rank.stream, values.tensor());
        expect_error([&] { scatter->wait(kernels::Deadline::after_s(1)); },
                     "for rank " + std::to_string(silent));
        expect_error([&] { rank.communicator.all_reduce(rank.stream, values.tensor(), ReduceOp::sum); },
                     "rank " + std::to_string(silent));
        rank.stream.synchronize(kernels::Deadline::after_s(60));
      },
      1);
}

std::string parameter_name(const testing::TestParamInfo<int>& info) {
  return "on_" + std::to_string(info.param);
}
INSTANTIATE_TEST_SUITE_P(, StagedCommunicatorTest, testing::Range(1, 5), parameter_name);

}  // namespace
}  // namespace tenax::comm
