// State that lives in the host's memory, on a device that runs later than it is told to.
#include "parallel/state/offloaded_optimizer.hpp"

#include <gtest/gtest.h>

#include "tests/kernels/async/stand_in.hpp"

namespace tenax::parallel {
namespace {

using kernels::DType;
using kernels::Tensor;

constexpr int kParts = 3;

/// Each part of bucket b has count_of(b) numbers; an update doubles them.
class OffloadedOptimizerTest : public testing::TestWithParam<std::size_t> {
 protected:
  static std::int64_t count_of(std::size_t bucket) { return 16 * static_cast<std::int64_t>(1 + bucket % 5); }

  void SetUp() override {
    for (std::size_t bucket = 0; bucket < GetParam(); ++bucket) {
      auto& parts = home_.emplace_back();
      for (int part = 0; part < kParts; ++part) {
        pinned_.push_back(device_->allocate(static_cast<std::size_t>(count_of(bucket)) * sizeof(float),
                                            kernels::MemoryKind::pinned_host));
        parts.push_back(pinned_.back()->tensor(DType::f32, {count_of(bucket)}));
        for (std::int64_t i = 0; i < count_of(bucket); ++i)
          parts.back().as<float>()[i] = first(bucket, part, i);
      }
    }
    offload_ = std::make_unique<OffloadedOptimizer>(*device_, *stream_, home_);
  }
  static float first(std::size_t bucket, int part, std::int64_t i) {
    return static_cast<float>(1 + bucket) + static_cast<float>(part) / 4 + static_cast<float>(i) / 128;
  }
  void update() {
    for (std::size_t bucket = 0; bucket < home_.size(); ++bucket) {
      const std::vector<Tensor>& parts = offload_->bring(bucket);
      ASSERT_EQ(parts.size(), static_cast<std::size_t>(kParts));
      for (const Tensor& part : parts) {
        EXPECT_EQ(part.size(), count_of(bucket));
        device_->kernels().add(*stream_, part, part);
      }
      offload_->take_back(bucket);
    }
  }
  void expect_home_times(float factor) {
    stream_->synchronize(kernels::Deadline::after_s(60));
    for (std::size_t bucket = 0; bucket < home_.size(); ++bucket)
      for (int part = 0; part < kParts; ++part)
        for (std::int64_t i = 0; i < count_of(bucket); ++i)
          ASSERT_EQ(home_[bucket][static_cast<std::size_t>(part)].as<float>()[i],
                    factor * first(bucket, part, i))
              << "bucket " << bucket << ", part " << part << ", " << i;
  }

  kernels::test::StandInUse use_;
  std::unique_ptr<kernels::Device> device_ = kernels::test::create_stand_in({.jitter_us = 200, .use = &use_});
  std::unique_ptr<kernels::Stream> stream_ = device_->create_stream();
  std::vector<std::unique_ptr<kernels::Buffer>> pinned_;
  std::vector<std::vector<Tensor>> home_;
  std::unique_ptr<OffloadedOptimizer> offload_;
};

TEST_P(OffloadedOptimizerTest, every_update_of_a_bucket_is_home_once_the_stream_is_through) {
  update();
  expect_home_times(2);
  offload_->fetch_ahead();
  update();
  update();
  expect_home_times(8);
}

TEST_P(OffloadedOptimizerTest, what_was_fetched_for_a_step_that_was_skipped_is_fetched_again) {
  offload_->fetch_ahead();
  stream_->synchronize(kernels::Deadline::after_s(60));
  offload_->fetch_ahead();
  update();
  expect_home_times(2);
}

// A replica's state comes from another one while its passes run.
TEST_P(OffloadedOptimizerTest, what_has_come_home_since_it_was_fetched_is_updated) {
  offload_->fetch_ahead();
  stream_->synchronize(kernels::Deadline::after_s(60));
  for (const auto& parts : home_)
    for (const Tensor& part : parts)
      for (std::int64_t i = 0; i < part.size(); ++i) part.as<float>()[i] *= 3;
  offload_->forget_ahead();
  update();
  expect_home_times(6);
}

TEST_P(OffloadedOptimizerTest, takes_of_the_device_what_was_planned) {
  std::size_t largest = 0;
  for (std::size_t bucket = 0; bucket < GetParam(); ++bucket)
    largest = std::max(largest, kParts * sizeof(float) * static_cast<std::size_t>(count_of(bucket)));
  EXPECT_EQ(use_.device, OffloadedOptimizer::device_bytes(GetParam(), largest));
}

INSTANTIATE_TEST_SUITE_P(Buckets, OffloadedOptimizerTest, testing::Values(1, 3, 4, 5, 11));

}  // namespace
}  // namespace tenax::parallel
