#include "resilience/mitigation/iteration_loss.hpp"

#include <gtest/gtest.h>

namespace tenax::resilience {
namespace {

constexpr double kHealthyIteration_s = 1, kSlowIteration_s = 1.5;

/// Four healthy iterations and four slow ones, of which nothing is known yet.
class IterationLossTest : public testing::Test {
 protected:
  IterationLossTest() {
    for (std::int64_t i = 0; i < 8; ++i) loss.add(i, i < 4 ? kHealthyIteration_s : kSlowIteration_s, false);
  }
  LostTime find(bool was_well, double lost_s = 0) {
    return loss.take(
        {.components = {}, .onset = 4, .healthy_iteration_s = kHealthyIteration_s, .lost_s = lost_s},
        was_well);
  }

  IterationLoss loss;
};

TEST_F(IterationLossTest, counts_from_the_onset_when_something_is_found) {
  EXPECT_EQ(loss.lost_s(), 0);
  const LostTime lost = find(true);
  EXPECT_EQ(lost.since_onset_s, 2);
  EXPECT_EQ(lost.since_healthy_s, 2);
  EXPECT_EQ(loss.lost_s(), 2);
  EXPECT_EQ(loss.healthy_s(), kHealthyIteration_s);
}

TEST_F(IterationLossTest, counts_on_while_something_is_slow_and_takes_no_fast_iteration_back) {
  find(true);
  loss.add(8, kSlowIteration_s, true);
  loss.add(9, kHealthyIteration_s / 2, true);
  loss.add(10, kSlowIteration_s, false);
  EXPECT_EQ(loss.lost_s(), 2.5);
}

TEST_F(IterationLossTest, masked_iterations_are_lost_but_buy_nothing_and_say_nothing) {
  loss.add(8, 9, false, true);
  EXPECT_EQ(find(true).since_onset_s, 2);
  EXPECT_EQ(loss.lost_s(), 10) << "also before it was found";
  loss.add(9, 9, true, true);
  EXPECT_EQ(loss.lost_s(), 18);
  EXPECT_EQ(find(false).since_healthy_s, 2);
  for (std::int64_t i = 10; i < 18; ++i) loss.add(i, 9, true, true);
  EXPECT_EQ(loss.recent_s(), kSlowIteration_s);
}

TEST_F(IterationLossTest, believes_the_finder_of_iterations_that_it_has_forgotten) {
  EXPECT_EQ(find(true, 7).since_onset_s, 7);
  EXPECT_EQ(loss.lost_s(), 7);
}

TEST_F(IterationLossTest, counts_the_same_iterations_once_where_something_else_was_slow_already) {
  find(true);
  const LostTime second = find(false);
  EXPECT_EQ(second.since_onset_s, 2);
  EXPECT_EQ(loss.lost_s(), 2);
}

TEST_F(IterationLossTest, a_restart_saves_what_is_lost_since_all_was_healthy) {
  find(true);
  loss.add(8, kSlowIteration_s, true);
  const auto find_at = [&](std::int64_t onset, bool was_well) {
    return loss.take({.components = {}, .onset = onset, .healthy_iteration_s = kHealthyIteration_s},
                     was_well);
  };
  const LostTime while_slow = find_at(8, false);
  EXPECT_EQ(while_slow.since_onset_s, 0.5);
  EXPECT_EQ(while_slow.since_healthy_s, 2.5);
  loss.close();
  loss.add(9, kSlowIteration_s, false);
  const LostTime after = find_at(9, true);
  EXPECT_EQ(after.since_onset_s, 0.5);
  EXPECT_EQ(after.since_healthy_s, 0.5);
  EXPECT_EQ(loss.lost_s(), 3);
}

TEST_F(IterationLossTest, says_what_the_last_iterations_take) {
  EXPECT_EQ(IterationLoss().recent_s(), 0);
  EXPECT_EQ(loss.recent_s(), kSlowIteration_s) << "the upper one of two in the middle";
  loss.add(8, kSlowIteration_s, false);
  loss.add(9, 9, false);
  EXPECT_EQ(loss.recent_s(), kSlowIteration_s);
  for (std::int64_t i = 10; i < 18; ++i) loss.add(i, kHealthyIteration_s, false);
  EXPECT_EQ(loss.recent_s(), kHealthyIteration_s);
}

TEST_F(IterationLossTest, says_what_the_last_iterations_take_under_the_placement_in_force) {
  EXPECT_TRUE(loss.knows_recent()) << "nothing was done yet";
  loss.begin_placement();
  EXPECT_EQ(loss.recent_s(), kSlowIteration_s) << "there are no others";
  for (std::int64_t i = 8; i < 12; ++i) {
    EXPECT_FALSE(loss.knows_recent()) << i;
    loss.add(i, 9, true, true);
    loss.add(i, kHealthyIteration_s, true);
  }
  EXPECT_TRUE(loss.knows_recent());
  EXPECT_EQ(loss.recent_s(), kHealthyIteration_s);
  EXPECT_EQ(find(true).since_onset_s, 2) << "what was lost stays known";
}

}  // namespace
}  // namespace tenax::resilience
