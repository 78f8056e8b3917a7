#include "model/emulated_stage.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "comm/emulated/direct_endpoint.hpp"
#include "tests/comm/emulated/emulated_network.hpp"

namespace tenax::model {
namespace {

class EmulatedStageTest : public testing::Test {
 protected:
  double mark_s() {
    const auto event = device_->create_event();
    stream_->record(*event);
    return event->time_s();
  }

  std::unique_ptr<kernels::EmulatedDevice> device_ = kernels::create_emulated_device({});
  std::unique_ptr<kernels::Stream> stream_ = device_->create_stream();
  const EmulatedStageCosts costs_{0.001, 0.002, 0.003, 1000};
};

TEST_F(EmulatedStageTest, passes_take_their_configured_times) {
  EmulatedStage stage(costs_, false, false, *device_, *stream_);
  const double begin_s = mark_s();
  stage.forward(0, 0, ForwardGradients::overwrite);
  EXPECT_NEAR(mark_s(), begin_s + 0.001, 1e-8);
  stage.backward_input(0);
  EXPECT_NEAR(mark_s(), begin_s + 0.003, 1e-8);
  stage.backward_weight(0, true, {});
  EXPECT_NEAR(mark_s(), begin_s + 0.006, 1e-8);
}

TEST_F(EmulatedStageTest, boundaries_have_their_bytes_but_no_data_and_the_ends_have_none) {
  EmulatedStage first(costs_, true, false, *device_, *stream_), last(costs_, false, true, *device_, *stream_);
  EXPECT_EQ(first.output(3).bytes(), 1000u);
  EXPECT_EQ(last.input(3).bytes(), 1000u);
  EXPECT_FALSE(first.output(3) || first.input(3) || last.output(3));
  EXPECT_EQ(first.input(3).shape.rank(), 0);
  EXPECT_EQ(last.output(3).shape.rank(), 0);
}

TEST_F(EmulatedStageTest, announces_its_rows_of_gradients_while_the_last_backward_runs) {
  EmulatedStage stage(costs_, true, true, *device_, *stream_);
  const double begin_s = mark_s();
  int rows = 0;
  stage.backward_weight(0, true, [&](int begin, int end) {
    EXPECT_EQ(begin, rows);
    EXPECT_EQ(end, ++rows);
    EXPECT_NEAR(mark_s(), begin_s + rows * 0.003 / EmulatedStage::kRows, 1e-8);
  });
  EXPECT_EQ(rows, EmulatedStage::kRows);
}

// Its passes take three times as long on rank 1.
TEST(EmulatedTensorGroup, ends_its_passes_together) {
  constexpr int kRanks = 2;
  comm::LocalNetwork network(kRanks);
  double took_s[kRanks] = {};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      const auto device = kernels::create_emulated_device({});
      const auto stream = device->create_stream();
      const auto make_links = [&](const std::vector<int>& neighbours) {
        return comm::create_emulated_direct_endpoint("tensor", network.peers(), rank, neighbours,
                                                     network.transport(rank), *device, {.depth = 1000});
      };
      const auto group = comm::create_emulated_ring_communicator("tensor", rank, kRanks, make_links, *device,
                                                                 {.deadline_s = 20});
      const double pass_s = rank == 1 ? 0.06 : 0.02;
      EmulatedStage stage({pass_s, pass_s, pass_s, 0}, true, true, *device, *stream);
      stage.end_passes_with(*group);
      const auto begin = device->create_event(), end = device->create_event();
      device->host_blocked(*stream);
      stream->record(*begin);
      stage.forward(0, 0, ForwardGradients::overwrite);
      stage.backward_input(0);
      stage.backward_weight(0, true, {});
      stream->record(*end);
      took_s[rank] = end->time_s() - begin->time_s();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(took_s[1], 0.18);
  EXPECT_GE(took_s[0], 0.12);  // it began no more than a pass after the other
}

}  // namespace
}  // namespace tenax::model
