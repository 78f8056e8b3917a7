#include "resilience/blame/period_counts.hpp"

#include <gtest/gtest.h>

namespace tenax::resilience {
namespace {

constexpr int kTensor = 0, kControl = 1;

/// `steps` steps of two operations of the tensor group before each of two control messages.
std::vector<TrailOperation> regular(std::int64_t steps) {
  std::vector<TrailOperation> trail;
  for (std::int64_t step = 0; step < steps; ++step)
    for (int i = 0; i < 2; ++i)
      for (const int channel : {kTensor, kTensor, kControl}) trail.push_back({channel, step});
  return trail;
}

TEST(PeriodCounts, are_equal_in_equal_steps) {
  const auto trail = regular(4);
  const auto counts = period_counts(trail, trail.size() - 1, 2);
  EXPECT_EQ(counts[kTensor].last, 4);
  EXPECT_EQ(counts[kTensor].before, 4);
  EXPECT_EQ(counts[kControl].last, 2);
}

TEST(PeriodCounts, show_what_was_left_out_though_a_step_has_begun_since) {
  auto trail = regular(4);
  trail.erase(trail.end() - 3);  // the last but one of the tensor group
  trail.push_back({kTensor, 4});
  trail.push_back({kTensor, 4});
  trail.push_back({kControl, 4});
  const auto counts = period_counts(trail, trail.size() - 1, 2);
  EXPECT_EQ(counts[kTensor].last, 3);
  EXPECT_EQ(counts[kTensor].before, 4);
}

TEST(PeriodCounts, are_not_known_without_two_whole_steps_before) {
  const auto trail = regular(2);
  for (const PeriodCounts& count : period_counts(trail, trail.size() - 1, 2)) EXPECT_EQ(count.last, -1);
  const auto longer = regular(4);
  const auto cut = std::span(longer).subspan(longer.size() - 9);
  for (const PeriodCounts& count : period_counts(cut, cut.size() - 1, 2)) EXPECT_EQ(count.before, -1);
}

TEST(PeriodCounts, are_not_known_of_a_rank_that_stands_in_nothing) {
  const auto trail = regular(4);
  EXPECT_EQ(period_counts(trail, trail.size(), 2)[kTensor].last, -1);
}

}  // namespace
}  // namespace tenax::resilience
