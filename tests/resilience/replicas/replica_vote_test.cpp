#include "resilience/replicas/replica_vote.hpp"

#include <gtest/gtest.h>

namespace tenax::resilience {
namespace {

double seconds(const std::vector<StepTime>& replicas) { return iteration_seconds(replicas); }

TEST(IterationSeconds, have_the_exchange_between_replicas_in_them) {
  EXPECT_DOUBLE_EQ(seconds({{0.10, 0.02}, {0.10, 0.02}}), 0.12);
  EXPECT_DOUBLE_EQ(seconds({{0.10, 0.20}, {0.10, 0.21}}), 0.30) << "over a link that is slow";
}

TEST(IterationSeconds, count_the_waiting_for_a_slow_replica_once) {
  EXPECT_DOUBLE_EQ(seconds({{0.10, 0.12}, {0.20, 0.02}, {0.10, 0.12}}), 0.22);
  EXPECT_DOUBLE_EQ(seconds({{0.10, 0.12}, {0.20, 0.02}, {0.19, 0.03}}), 0.22);
}

TEST(IterationSeconds, do_without_the_waiting_of_one_that_has_just_joined) {
  EXPECT_DOUBLE_EQ(seconds({{0.10, 0.02}, {0.10, 0}}), 0.12);
  EXPECT_DOUBLE_EQ(seconds({{0.10, 0.02}, {0, 0}}), 0.12) << "it is behind";
  EXPECT_DOUBLE_EQ(seconds({{0.10, 0}, {0.10, 0}}), 0.10) << "all have";
}

TEST(IterationSeconds, are_not_known_where_nobody_tells_its_own) {
  EXPECT_EQ(seconds({{0, 0.02}, {0, 0.02}}), 0);
  EXPECT_EQ(seconds({}), 0);
}

}  // namespace
}  // namespace tenax::resilience
