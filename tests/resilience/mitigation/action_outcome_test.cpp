#include "resilience/mitigation/action_outcome.hpp"

#include <gtest/gtest.h>

namespace tenax::resilience {
namespace {

/// An action of step 20 that is to bring iterations from 2 s to 1.2 s, and cost 4 s, has begun.
class ActionOutcomeTest : public testing::Test {
 protected:
  ActionOutcomeTest() {
    costs.estimate(Strategy::microbatches, 5);
    outcome.begin(action, before);
  }
  void iterations(int count, double seconds) {
    for (int i = 0; i < count; ++i) outcome.add(seconds);
  }

  const parallel::GridShape shape{.data = 2};
  const RunPlacement before = RunPlacement::at_launch(shape, 6);
  const MitigationRecord action{
      .step = 20,
      .components = {{.rank = 1}},
      .placement = {.microbatches = {8, 4}, .ring_order = {}, .group_of_place = {0, 1}},
      .lost_s = 4,
      .measured_s = 2,
      .predicted_s = 1.2};
  ActionCosts costs;
  ActionOutcome outcome{shape};
};

TEST_F(ActionOutcomeTest, is_known_after_eight_iterations) {
  iterations(7, 1.2);
  EXPECT_TRUE(outcome.is_awaited());
  EXPECT_TRUE(outcome.take_records(false, 9).empty());
  outcome.add(1.2);
  EXPECT_FALSE(outcome.is_awaited() || outcome.is_regretted());
  EXPECT_FALSE(outcome.take_doubt());
  EXPECT_FALSE(outcome.undo(action.placement, costs));
  const auto records = outcome.take_records(false, 9);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].achieved_s, 1.2);
  EXPECT_EQ(records[0].step, 20);
  EXPECT_TRUE(outcome.take_records(false, 9).empty()) << "told once";
}

TEST_F(ActionOutcomeTest, less_than_was_predicted_is_a_doubt_and_nothing_to_undo) {
  iterations(8, 1.5);
  EXPECT_EQ(outcome.take_doubt(), 24);
  EXPECT_FALSE(outcome.take_doubt()) << "told once";
  EXPECT_FALSE(outcome.is_regretted());
}

TEST_F(ActionOutcomeTest, what_made_it_worse_is_undone_once) {
  iterations(8, 2.1);
  EXPECT_TRUE(outcome.take_doubt());
  ASSERT_TRUE(outcome.is_regretted());
  const auto undo = outcome.undo(action.placement, costs);
  ASSERT_TRUE(undo);
  EXPECT_TRUE(undo->is_revert && undo->made_worse);
  EXPECT_EQ(undo->placement, before);
  EXPECT_EQ(undo->components.size(), 1U);
  EXPECT_EQ(undo->expected_cost_s, 4) << "no more than was lost";
  EXPECT_EQ(undo->predicted_s, 2) << "as it was";
  outcome.begin(*undo, action.placement);
  iterations(8, 2);
  EXPECT_FALSE(outcome.is_regretted() || outcome.undo(before, costs));
}

TEST_F(ActionOutcomeTest, what_could_not_be_undone_is_regretted_again_later_each_time) {
  iterations(8, 2.1);
  for (const int pause : {20, 40, 80}) {
    ASSERT_TRUE(outcome.is_regretted());
    outcome.keep();
    iterations(pause - 1, 2.1);
    EXPECT_FALSE(outcome.is_regretted() || outcome.undo(action.placement, costs));
    iterations(1, 2.1);
  }
  EXPECT_TRUE(outcome.undo(action.placement, costs));
}

TEST_F(ActionOutcomeTest, what_was_done_meanwhile_stays_where_an_action_is_undone) {
  iterations(8, 2.1);
  outcome.keep();
  MitigationRecord ring = action;
  ring.strategy = Strategy::ring;
  ring.placement.ring_order[{}] = {1, 0};
  outcome.begin(ring, action.placement);
  iterations(20, 1.2);
  const auto undo = outcome.undo(ring.placement, costs);
  ASSERT_TRUE(undo);
  EXPECT_EQ(undo->placement.microbatches, before.microbatches);
  EXPECT_EQ(undo->placement.ring_order, ring.placement.ring_order);
  MitigationRecord swap = action;
  swap.strategy = Strategy::swap;
  outcome.begin(swap, ring.placement);
  EXPECT_FALSE(outcome.is_regretted()) << "a swap has changed all";
}

TEST_F(ActionOutcomeTest, another_group_s_ring_takes_no_regret_away_and_stays) {
  costs.estimate(Strategy::ring, 5);
  MitigationRecord ring = action;
  ring.strategy = Strategy::ring;
  ring.placement = before;
  ring.placement.ring_order[{.stage = 0}] = {1, 0};
  outcome.begin(ring, before);
  iterations(8, 2.1);
  outcome.keep();
  MitigationRecord other = ring;
  other.placement.ring_order[{.stage = 1}] = {1, 0};
  outcome.begin(other, ring.placement);
  iterations(20, 1.2);
  const auto undo = outcome.undo(other.placement, costs);
  ASSERT_TRUE(undo);
  EXPECT_EQ(changed_rings(undo->placement, other.placement), std::vector{DataGroup{.stage = 0}});
  outcome.begin(ring, other.placement);  // the other's way back
  EXPECT_TRUE(outcome.is_regretted());
  ring.placement.ring_order.clear();
  outcome.begin(ring, other.placement);
  EXPECT_FALSE(outcome.is_regretted());
}

TEST_F(ActionOutcomeTest, a_regret_that_waits_is_not_lost_to_another_one) {
  iterations(8, 2.1);
  outcome.keep();
  MitigationRecord ring = action;
  ring.strategy = Strategy::ring;
  ring.placement.ring_order[{}] = {1, 0};
  outcome.begin(ring, action.placement);
  iterations(20, 2.5);
  ASSERT_TRUE(outcome.is_regretted());
  EXPECT_EQ(outcome.undo(ring.placement, costs).value().strategy, Strategy::microbatches);
}

TEST_F(ActionOutcomeTest, hardly_worse_is_not_worse) {
  iterations(8, 2.03);
  EXPECT_FALSE(outcome.is_regretted());
}

TEST_F(ActionOutcomeTest, what_chance_explains_is_not_worse) {
  const std::vector<double> noisy = {1.9, 2.0, 2.1, 2.2, 1.95, 2.07, 2.15, 1.85};
  for (const double seconds : noisy) outcome.add(seconds);
  EXPECT_EQ(outcome.take_records(false, 9).at(0).achieved_s, 2.07);
  EXPECT_FALSE(outcome.is_regretted());
  outcome.begin(action, before);
  for (const double seconds : noisy) outcome.add(seconds + 0.3);
  EXPECT_TRUE(outcome.is_regretted());
  outcome.begin(action, before);
  iterations(7, 2.1);
  outcome.add(9);
  EXPECT_TRUE(outcome.is_regretted()) << "a single slow one is no noise";
}

TEST_F(ActionOutcomeTest, something_else_that_becomes_slow_is_not_its_fault) {
  iterations(3, 2.1);
  outcome.disturb();
  iterations(5, 9);
  EXPECT_FALSE(outcome.is_awaited() || outcome.is_regretted());
  outcome.begin(action, before);
  iterations(3, 1.2);
  iterations(5, 9);
  EXPECT_TRUE(outcome.is_regretted());
  outcome.disturb();
  EXPECT_FALSE(outcome.is_regretted()) << "afterwards likewise";
  outcome.keep();  // an undo was under way, and has failed
  EXPECT_FALSE(outcome.is_regretted());
}

TEST_F(ActionOutcomeTest, something_else_may_be_slow_by_what_was_worse_from_the_first_on) {
  iterations(8, 2.1);
  EXPECT_FALSE(outcome.undo(action.placement, costs).value().is_disturbed);
  outcome.disturb();
  ASSERT_TRUE(outcome.is_regretted());
  EXPECT_TRUE(outcome.undo(action.placement, costs).value().is_disturbed);
}

TEST_F(ActionOutcomeTest, something_else_that_becomes_slow_later_excuses_nothing) {
  iterations(8, 2.1);
  outcome.keep();
  outcome.disturb();
  iterations(20, 2.1);
  EXPECT_FALSE(outcome.undo(action.placement, costs).value().is_disturbed);
}

TEST_F(ActionOutcomeTest, an_action_that_undoes_is_not_undone) {
  MitigationRecord undo = action;
  undo.is_revert = true;
  outcome.begin(undo, before);
  iterations(8, 9);
  EXPECT_FALSE(outcome.is_regretted());
}

TEST_F(ActionOutcomeTest, masked_iterations_end_a_trial_after_64_and_blame_nobody) {
  iterations(3, 9);
  for (int i = 0; i < 61; ++i) {
    EXPECT_TRUE(outcome.is_awaited()) << i;
    outcome.add(7, true);
  }
  EXPECT_FALSE(outcome.is_awaited() || outcome.is_regretted() || outcome.take_doubt());
  EXPECT_EQ(outcome.take_records(false, 1.7).at(0).achieved_s, 9) << "by those that say something";
  outcome.begin(action, before);
  for (int i = 0; i < 64; ++i) outcome.add(7, true);
  EXPECT_EQ(outcome.take_records(false, 1.7).at(0).achieved_s, 7) << "there are no others";
}

TEST_F(ActionOutcomeTest, half_a_trial_is_enough_where_the_rest_is_masked) {
  for (int i = 0; i < 60; ++i) outcome.add(1, true);
  iterations(4, 2.1);
  EXPECT_TRUE(outcome.is_regretted());
}

TEST_F(ActionOutcomeTest, the_end_of_a_run_tells_what_is_known_and_blames_nobody) {
  EXPECT_EQ(outcome.take_records(true, 1.7).at(0).achieved_s, 1.7) << "no iteration yet";
  outcome.begin(action, before);
  iterations(3, 9);
  EXPECT_EQ(outcome.take_records(true, 1.7).at(0).achieved_s, 9);
  EXPECT_FALSE(outcome.is_awaited() || outcome.is_regretted());
}

}  // namespace
}  // namespace tenax::resilience
