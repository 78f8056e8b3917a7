#include "resilience/blame/slow_ranks.hpp"

#include <gtest/gtest.h>

namespace tenax::resilience {
namespace {

RankTimes rank(int number, double inside_s) {
  return {.replica = number / 2, .rank = number % 2, .host = "h", .step_s = 1, .inside_s = inside_s};
}

TEST(SlowRanks, are_those_that_wait_least_for_others) {
  const auto slow =
      slow_ranks({rank(0, 0.6), rank(1, 0.15), rank(2, 0.65), rank(3, 0.05), rank(4, 0.7), rank(5, 0.62)});
  ASSERT_EQ(slow.size(), 2u);
  EXPECT_EQ(slow[0].replica, 1);
  EXPECT_EQ(slow[0].rank, 1);
  EXPECT_EQ(slow[1].replica, 0);
}

TEST(SlowRanks, are_none_where_all_wait_alike_or_one_is_alone) {
  EXPECT_TRUE(slow_ranks({rank(0, 0.6), rank(1, 0.55), rank(2, 0.65)}).empty());
  EXPECT_TRUE(slow_ranks({rank(0, 0), rank(1, 0)}).empty());
  EXPECT_TRUE(slow_ranks({rank(0, 0)}).empty());
  EXPECT_TRUE(slow_ranks({}).empty());
}

TEST(SlowRanks, is_the_other_one_of_two) {
  const auto slow = slow_ranks({rank(0, 0.5), rank(1, 0.1)});
  ASSERT_EQ(slow.size(), 1u);
  EXPECT_EQ(slow[0].rank, 1);
}

}  // namespace
}  // namespace tenax::resilience
