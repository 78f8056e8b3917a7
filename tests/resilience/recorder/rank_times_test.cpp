#include "resilience/recorder/rank_times.hpp"

#include <gtest/gtest.h>

namespace tenax::resilience {
namespace {

constexpr std::int64_t kMs = 1000000;

/// Each step takes 100 ms: a pass of 60, a message that comes meanwhile and 10 ms later, an exchange of 20.
RecorderImage image_of_steps(std::int64_t steps) {
  RecorderImage image;
  image.replica = 2;
  image.rank = 1;
  image.channels.emplace_back();
  for (std::int64_t step = 0; step < steps; ++step) {
    const std::int64_t begin = 100 * step;
    const auto add = [&](OperationKind kind, int channel, std::int64_t from, std::int64_t to) {
      image.operations.push_back({.kind = kind,
                                  .label = "",
                                  .channel = channel,
                                  .step = step,
                                  .started_ns = (begin + from) * kMs,
                                  .finished_ns = (begin + to) * kMs});
    };
    add(OperationKind::receive, 0, 0, 70);
    add(OperationKind::pass, -1, 0, 60);
    add(OperationKind::exchange, 0, 75, 95);
    add(OperationKind::send, 0, 70, 99);
  }
  image.read_ns = 100 * steps * kMs;
  return image;
}

TEST(RankTimes, are_inside_where_others_are_waited_for_and_no_pass_is_under_way) {
  const auto times = rank_times(image_of_steps(6), 3);
  ASSERT_TRUE(times);
  EXPECT_EQ(times->replica, 2);
  EXPECT_EQ(times->rank, 1);
  EXPECT_NEAR(times->step_s, 0.1, 1e-9);
  EXPECT_NEAR(times->inside_s, 0.03, 1e-9);
}

TEST(RankTimes, are_unknown_of_fewer_whole_steps) {
  EXPECT_FALSE(rank_times(image_of_steps(4), 3))
      << "the oldest may have lost its begin, the newest has no end";
  EXPECT_TRUE(rank_times(image_of_steps(5), 3));
  EXPECT_FALSE(rank_times(image_of_steps(0), 3));
}

}  // namespace
}  // namespace tenax::resilience
