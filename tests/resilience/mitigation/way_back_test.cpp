#include "resilience/mitigation/way_back.hpp"

#include <gtest/gtest.h>

namespace tenax::resilience {
namespace {

constexpr int kHealSteps = 4;
const Component kSlowRank{.rank = 1, .factor = 2, .healthy_s = 0.05};

/// Of a run of pipeline 2 x data 2 with iterations of 1 s, in which rank 1 was slow: what was done against it cost 3 s.
class WayBackTest : public testing::Test {
 protected:
  WayBackTest() {
    for (const Strategy strategy : kStrategies) costs.estimate(strategy, 3);
    loss.take({.components = {}, .healthy_iteration_s = 1}, true);
    cases.open(slow_part(kSlowRank, std::vector<RankReport>(4), parallel::ProcessGrid(shape)), {});
  }
  void act(Strategy strategy, const RunPlacement& placement) {
    cases.applied({.strategy = strategy, .components = {kSlowRank}, .placement = placement, .lost_s = 2});
    now = placement;
  }
  std::optional<MitigationRecord> next() const { return way_back.next(now, cases, costs, loss); }
  void iteration() {
    cases.add(1, 1);
    loss.add(0, 1, false);
    way_back.add(cases.is_any_slow());
  }
  /// So many until there is a way back; none within 1000.
  std::optional<int> iterations_until_next() {
    for (int i = 1; i <= 1000; ++i) {
      iteration();
      if (next()) return i;
    }
    return {};
  }
  RunPlacement other_shares() const {
    RunPlacement placement = launch;
    placement.microbatches = {8, 4};
    return placement;
  }

  const parallel::GridShape shape{.pipeline = 2, .data = 2};
  const RunPlacement launch = RunPlacement::at_launch(shape, 6);
  RunPlacement now = launch;
  SlowCases cases{0.02, kHealSteps};
  ActionCosts costs;
  IterationLoss loss;
  WayBack way_back{launch, shape, 0.02};
};

TEST_F(WayBackTest, takes_back_shares_when_all_has_been_healthy_for_some_iterations) {
  act(Strategy::microbatches, other_shares());
  EXPECT_FALSE(way_back.is_gone(now));
  EXPECT_FALSE(iterations_until_next()) << "it is slow";
  cases.close(kSlowRank);
  EXPECT_EQ(iterations_until_next(), kHealSteps);
  const MitigationRecord back = *next();
  EXPECT_EQ(back.strategy, Strategy::microbatches);
  EXPECT_TRUE(back.is_revert && !back.made_worse);
  EXPECT_TRUE(way_back.is_gone(back.placement));
  EXPECT_EQ(back.components.size(), 1U);
  EXPECT_EQ(back.lost_s, 2);
  EXPECT_EQ(back.expected_cost_s, 2) << "no more than was lost";
  EXPECT_EQ(back.predicted_s, 1);
}

TEST_F(WayBackTest, there_is_none_where_nothing_was_changed) {
  cases.close(kSlowRank);
  EXPECT_TRUE(way_back.is_gone(now));
  EXPECT_FALSE(iterations_until_next());
}

TEST_F(WayBackTest, a_swap_must_have_been_paid_by_the_calm) {
  RunPlacement swapped_groups = launch;
  swapped_groups.group_of_place = {1, 0, 2, 3};
  act(Strategy::swap, swapped_groups);
  cases.close(kSlowRank);
  EXPECT_EQ(iterations_until_next(), 150) << "2 % of 1 s each";
  EXPECT_EQ(next()->placement, launch);
}

TEST_F(WayBackTest, rings_go_back_one_at_a_time) {
  RunPlacement reordered = launch;
  reordered.ring_order[{.stage = 0}] = {1, 0};
  reordered.ring_order[{.stage = 1}] = {1, 0};
  act(Strategy::ring, reordered);
  cases.close(kSlowRank);
  ASSERT_TRUE(iterations_until_next());
  now = next()->placement;
  EXPECT_EQ(now.ring_order.size(), 1U);
  EXPECT_EQ(next()->placement, launch);
}

TEST_F(WayBackTest, what_was_not_possible_is_tried_again_later_each_time) {
  act(Strategy::microbatches, other_shares());
  cases.close(kSlowRank);
  ASSERT_TRUE(iterations_until_next());
  for (const int pause : {20, 40, 80, 160, 320, 640, 640}) {
    way_back.failed(Strategy::microbatches);
    EXPECT_EQ(iterations_until_next(), pause);
  }
  way_back.succeeded(Strategy::microbatches);
  EXPECT_TRUE(next());
}

TEST_F(WayBackTest, what_was_not_possible_holds_up_no_other) {
  RunPlacement changed = other_shares();
  changed.ring_order[{.stage = 0}] = {1, 0};
  act(Strategy::ring, changed);
  cases.close(kSlowRank);
  ASSERT_TRUE(iterations_until_next());
  ASSERT_EQ(next()->strategy, Strategy::ring);
  way_back.failed(Strategy::ring);
  EXPECT_EQ(iterations_until_next(), kHealSteps - 1);
  ASSERT_EQ(next()->strategy, Strategy::microbatches);
  now = next()->placement;
  EXPECT_EQ(iterations_until_next(), 20 - (kHealSteps - 1));
  EXPECT_EQ(next()->strategy, Strategy::ring);
}

}  // namespace
}  // namespace tenax::resilience
