#include "resilience/membership/squares_check.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tenax::resilience {
namespace {

SquaresCheck check_of(std::vector<int> ring, std::set<int> voters) {
  SquaresCheck check;
  check.begin(std::move(ring), std::move(voters));
  return check;
}

using Replicas = std::vector<int>;

TEST(SquaresCheck, finds_nothing_where_all_agree) {
  SquaresCheck check = check_of({0, 1}, {0, 1});
  EXPECT_EQ(check.add(0, 1, 5), Replicas{});
  EXPECT_EQ(check.add(0, 0, 5), Replicas{});
}

TEST(SquaresCheck, finds_the_one_of_three_that_differs_whoever_comes_first) {
  SquaresCheck check = check_of({0, 1, 2}, {0, 1, 2});
  EXPECT_EQ(check.add(4, 0, 9), Replicas{});
  EXPECT_EQ(check.add(4, 1, 5), Replicas{});
  EXPECT_EQ(check.add(4, 2, 5), Replicas{0});
}

TEST(SquaresCheck, finds_the_later_in_the_ring_of_two_that_differ) {
  SquaresCheck check = check_of({1, 0}, {0, 1});
  EXPECT_EQ(check.add(0, 0, 9), Replicas{});
  EXPECT_EQ(check.add(0, 1, 5), Replicas{0});
}

TEST(SquaresCheck, waits_for_all_that_hold_the_state_and_not_for_others) {
  SquaresCheck check = check_of({0, 1, 2}, {0, 1});
  EXPECT_EQ(check.add(0, 0, 9), Replicas{});
  EXPECT_EQ(check.add(0, 1, 5), Replicas{1});
  check.begin({0, 1, 2}, {0, 1});
  check.add(1, 2, 5);
  EXPECT_EQ(check.add(1, 0, 9), Replicas{});
  EXPECT_EQ(check.add(1, 1, 5), Replicas{0});
}

}  // namespace
}  // namespace tenax::resilience
