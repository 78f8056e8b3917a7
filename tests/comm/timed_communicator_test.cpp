// Timing of collectives: on the host, on a stand-in for a GPU, and round the emulated device's ring.
#include "comm/timed_communicator.hpp"

#include <gtest/gtest.h>

#include "kernels/kernels.hpp"
#include "tests/comm/device_values.hpp"
#include "tests/comm/thread_ranks.hpp"
#include "tests/kernels/async/stand_in.hpp"

namespace tenax::comm {
namespace {

using kernels::Deadline;
using kernels::DType;

struct Records : CollectiveObserver {
  std::vector<CollectiveRecord> all;
  void on_collective(const CollectiveRecord& record) override { all.push_back(record); }
};

class TimedCommunicatorTest : public testing::TestWithParam<bool> {
 protected:
  struct Rank {
    kernels::Device& device;
    kernels::Stream& stream;
    TimedCommunicator& group;
    kernels::Tensor values;  ///< 12 floats
  };
  /// Two ranks, on the host or on a stand-in for a GPU.
  static void run(const std::function<void(const Rank&)>& body) {
    run_ranks(2, 30, [&](World& world) {
      const std::unique_ptr<kernels::Device> device =
          GetParam() ? kernels::test::create_stand_in({.jitter_us = 200}) : kernels::create_cpu_device();
      const auto stream = device->create_stream();
      const auto memory = device->allocate(12 * sizeof(float));
      TimedCommunicator group(world.split_communicator("data", 0, world.rank(), *device), *device);
      body({*device, *stream, group, memory->tensor(DType::f32, {12})});
      stream->synchronize(Deadline::after_s(30));
    });
  }
};

TEST_P(TimedCommunicatorTest, tells_kind_group_bytes_and_times_of_each_collective) {
  run([](const Rank& rank) {
    const double begin_s = kernels::steady_now_s();
    rank.group.all_reduce(rank.stream, rank.values, ReduceOp::sum);
    const auto deadline = Deadline::after_s(30);
    rank.group.start_reduce_scatter(rank.stream, rank.values)->order_before(rank.stream, deadline);
    rank.group.start_all_gather(rank.stream, rank.values)->wait(deadline);
    rank.stream.synchronize(deadline);
    Records records;
    rank.group.report(&records);
    ASSERT_EQ(records.all.size(), 3U);
    EXPECT_EQ(records.all[0].kind, CollectiveKind::all_reduce);
    EXPECT_EQ(records.all[1].kind, CollectiveKind::reduce_scatter);
    EXPECT_EQ(records.all[2].kind, CollectiveKind::all_gather);
    constexpr double kClocks_s = 1e-3;  // how far a device's clock may be off
    for (const CollectiveRecord& record : records.all) {
      EXPECT_EQ(record.group, "data");
      EXPECT_EQ(record.ranks, 2);
      EXPECT_EQ(record.bytes, 12 * sizeof(float));
      EXPECT_GE(record.begin_s, begin_s - kClocks_s);
      EXPECT_GE(record.end_s, record.begin_s - kClocks_s);
      EXPECT_LE(record.end_s, kernels::steady_now_s() + kClocks_s);
    }
  });
}

TEST_P(TimedCommunicatorTest, tells_of_each_collective_once_and_only_when_it_has_ended) {
  run([](const Rank& rank) {
    Records records;
    TransferPtr transfer = rank.group.start_reduce_scatter(rank.stream, rank.values);
    rank.group.report(&records);
    EXPECT_TRUE(records.all.empty());
    transfer->wait(Deadline::after_s(30));
    rank.group.report(&records);
    rank.group.report(&records);
    EXPECT_EQ(records.all.size(), 1U);
    transfer.reset();
    rank.group.all_reduce(rank.stream, rank.values, ReduceOp::max);
    rank.stream.synchronize(Deadline::after_s(30));
    rank.group.report(nullptr);
    rank.group.report(&records);
    EXPECT_EQ(records.all.size(), 1U);
  });
}

TEST_P(TimedCommunicatorTest, a_collective_of_nothing_is_none) {
  run([](const Rank& rank) {
    rank.group.start_all_gather(rank.stream, rank.values.part(0, {0}))->wait(Deadline::after_s(30));
    Records records;
    rank.group.report(&records);
    EXPECT_TRUE(records.all.empty());
  });
}

INSTANTIATE_TEST_SUITE_P(on, TimedCommunicatorTest, testing::Bool(), [](const auto& device) {
  return device.param ? "a_stand_in_for_a_gpu" : "the_host";
});

// Not an assertion: what timing a collective costs beside it.
TEST(TimedCommunicator, reports_its_cost) {
  run_ranks(1, 30, [](World& world) {
    const auto device = kernels::create_cpu_device();
    const auto stream = device->create_stream();
    const auto memory = device->allocate(64);
    TimedCommunicator group(world.split_communicator("tensor", 0, 0, *device), *device);
    constexpr int kSteps = 1000, kCollectives = 100;
    const double begin_s = kernels::steady_now_s();
    for (int step = 0; step < kSteps; ++step) {
      for (int i = 0; i < kCollectives; ++i)
        group.all_reduce(*stream, memory->tensor(DType::f32, {16}), ReduceOp::sum);
      group.report(nullptr);
    }
    std::cout << (kernels::steady_now_s() - begin_s) / (kSteps * kCollectives) * 1e9 << " ns a collective\n";
  });
}

}  // namespace
}  // namespace tenax::comm
