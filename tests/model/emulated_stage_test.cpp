#include "model/emulated_stage.hpp"

#include <gtest/gtest.h>

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
  stage.forward(0, 0);
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

}  // namespace
}  // namespace tenax::model
