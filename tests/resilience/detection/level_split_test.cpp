#include "resilience/detection/level_split.hpp"

#include <gtest/gtest.h>

#include "resilience/detection/change_check.hpp"

namespace tenax::resilience {
namespace {

constexpr double kThreshold = 0.0953;

std::vector<double> two_levels(std::size_t before, std::size_t after, double step) {
  std::vector<double> values;
  for (std::size_t i = 0; i < before + after; ++i)
    values.push_back((i % 2 == 0 ? 0.004 : -0.004) + (i < before ? 0 : step));
  return values;
}

TEST(LevelSplitter, finds_the_first_value_of_the_second_level) {
  LevelSplitter splitter;
  for (const std::size_t after : {1U, 3U, 40U})
    EXPECT_EQ(splitter.best(two_levels(20, after, 0.2), 8), 20U) << after;
}

TEST(LevelSplitter, is_not_moved_by_spikes) {
  std::vector<double> values = two_levels(30, 6, 0.2);
  values[12] = values[27] = 1.4;
  values[32] = 0.7;
  EXPECT_EQ(LevelSplitter().best(values, 8), 30U);
}

TEST(LevelSplitter, looks_no_earlier_than_it_is_told) {
  EXPECT_GE(LevelSplitter().best(two_levels(10, 30, 0.2), 18), 18U);
}

TEST(ChangeCheck, tells_both_levels) {
  const auto levels = check_change(two_levels(30, 3, 0.2), 30, kThreshold);
  ASSERT_TRUE(levels);
  EXPECT_NEAR(levels->before, 0, 0.004);
  EXPECT_NEAR(levels->after, 0.2, 0.004);
}

TEST(ChangeCheck, refuses_less_than_the_threshold) {
  EXPECT_FALSE(check_change(two_levels(30, 12, 0.08), 30, kThreshold));
  EXPECT_TRUE(check_change(two_levels(30, 12, 0.11), 30, kThreshold));
}

TEST(ChangeCheck, few_values_must_agree) {
  std::vector<double> values = two_levels(30, 3, 0.3);
  values[32] = 0.5;
  EXPECT_FALSE(check_change(values, 30, kThreshold));
  values.push_back(0.3);
  EXPECT_TRUE(check_change(values, 30, kThreshold));
}

}  // namespace
}  // namespace tenax::resilience
