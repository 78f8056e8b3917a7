// From what is slow to an action, what it achieved, and the way back.
#include "resilience/mitigation/mitigation.hpp"

#include <gtest/gtest.h>

namespace tenax::resilience {
namespace {

constexpr double kHealthy_s = 0.1, kSlow_s = 0.2, kCured_s = 0.12, kCost_s = 0.5;
const Component kRank{.rank = 1, .factor = 2, .healthy_s = 0.05};

/// A run of data 2: rank 1 is slow, and another split of microbatches makes an iteration kCured_s long.
class MitigationOfTwo : public testing::Test {
 protected:
  MitigationOfTwo() : mitigation(launch, {.shape = {.data = 2}, .heal_steps = 4}) {
    for (const Strategy strategy : kStrategies) mitigation.costs().estimate(strategy, kCost_s);
    cured.microbatches = {8, 4};
  }

  /// An iteration; what is decided then is applied at once.
  std::optional<Action> step(double seconds) {
    mitigation.add(now++, seconds, false);
    if (mitigation.wants_proposals()) {
      mitigation.await_proposals();
      mitigation.propose({{.against = {kRank}, .placement = cured, .gain_s = kSlow_s - kCured_s}});
    }
    if (const auto since = mitigation.take_doubt()) doubts.push_back(*since);
    const std::optional<Action> action = mitigation.decide(is_inquired);
    if (action) mitigation.applied(now, kCost_s);
    for (MitigationRecord& record : mitigation.take_records()) records.push_back(std::move(record));
    return action;
  }
  /// Iterations until something is done; none within 100.
  std::optional<std::pair<int, Action>> steps_until_action(double seconds) {
    for (int i = 1; i <= 100; ++i)
      if (const auto action = step(seconds)) return std::pair(i, *action);
    return {};
  }
  void steps(int count, double seconds) {
    for (int i = 0; i < count; ++i) EXPECT_FALSE(step(seconds)) << i;
  }
  void find_slow(const Component& component = kRank) {
    mitigation.take(FailSlow{.cause = SlowCause::compute,
                             .components = {component},
                             .onset = now,
                             .healthy_iteration_s = kHealthy_s},
                    std::vector<RankReport>(2), grid);
  }
  void heal() { mitigation.take(Healed{.component = kRank}); }

  parallel::ProcessGrid grid{{.data = 2}};
  RunPlacement launch = RunPlacement::at_launch({.data = 2}, 6), cured = launch;
  Mitigation mitigation;
  std::vector<MitigationRecord> records;
  std::vector<std::int64_t> doubts;
  bool is_inquired = false;
  std::int64_t now = 0;
};

TEST_F(MitigationOfTwo, does_nothing_while_nothing_is_slow) {
  steps(200, kHealthy_s);
  EXPECT_EQ(mitigation.lost_s(), 0);
  EXPECT_TRUE(records.empty());
}

TEST_F(MitigationOfTwo, acts_when_its_cost_is_lost_and_tells_what_that_achieved) {
  steps(20, kHealthy_s);
  find_slow();
  const auto done = steps_until_action(kSlow_s);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->first, 5) << "each loses 0.1 s of 0.5 s";
  EXPECT_EQ(done->second.placement, cured);
  steps(8, kCured_s);
  EXPECT_TRUE(doubts.empty());
  ASSERT_EQ(records.size(), 1U);
  EXPECT_FALSE(records[0].is_revert);
  EXPECT_EQ(records[0].step, 25);
  EXPECT_GE(records[0].lost_s, kCost_s - 1e-9);
  EXPECT_EQ(records[0].expected_cost_s, kCost_s);
  EXPECT_NEAR(records[0].measured_s, kSlow_s, 1e-9);
  EXPECT_NEAR(records[0].predicted_s, kCured_s, 1e-9);
  EXPECT_NEAR(records[0].achieved_s, kCured_s, 1e-9);
  EXPECT_EQ(mitigation.seconds(), kCost_s);
}

TEST_F(MitigationOfTwo, counts_what_was_lost_before_it_was_found) {
  steps(20, kHealthy_s);
  steps(6, kSlow_s);
  now -= 6;
  find_slow();
  now += 6;
  EXPECT_EQ(steps_until_action(kSlow_s)->first, 1);
}

TEST_F(MitigationOfTwo, counts_what_was_lost_in_more_iterations_than_it_remembers) {
  const double loss_s = 0.001;
  steps(600, kHealthy_s + loss_s);
  mitigation.take(FailSlow{.cause = SlowCause::compute,
                           .components = {kRank},
                           .onset = 0,
                           .healthy_iteration_s = kHealthy_s,
                           .lost_s = 600 * loss_s},
                  std::vector<RankReport>(2), grid);
  EXPECT_NEAR(mitigation.lost_s(), 0.6, 1e-9);
  EXPECT_EQ(steps_until_action(kSlow_s)->first, 1);
}

TEST_F(MitigationOfTwo, does_less_when_a_part_has_become_less_slow) {
  find_slow();
  steps_until_action(kSlow_s);
  steps(20, kCured_s);
  Component eased = kRank;
  eased.factor = 1.3;
  mitigation.take(Eased{eased}, std::vector<RankReport>(2), grid);
  ASSERT_EQ(mitigation.slow().size(), 1U);
  EXPECT_EQ(mitigation.slow()[0].component.factor, 1.3);
  EXPECT_TRUE(mitigation.wants_proposals());
  cured.microbatches = {7, 5};
  const auto done = steps_until_action(kCured_s);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->second.placement.microbatches, (std::vector<int>{7, 5}));
}

TEST_F(MitigationOfTwo, goes_back_when_it_has_been_healthy_for_long_enough) {
  find_slow();
  steps_until_action(kSlow_s);
  steps(20, kCured_s);
  heal();
  const auto back = steps_until_action(kCured_s);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->first, 4);
  EXPECT_EQ(back->second.placement, launch);
  steps(8, kHealthy_s);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_TRUE(records[1].is_revert);
  EXPECT_FALSE(records[1].made_worse);
  EXPECT_TRUE(records[1].expected_cost_s > 0 && records[1].expected_cost_s <= records[1].lost_s);
  ASSERT_EQ(records[1].components.size(), 1U);
  EXPECT_EQ(mitigation.placement(), launch);
  steps(50, kHealthy_s);
}

TEST_F(MitigationOfTwo, undoes_what_made_it_worse_and_does_not_try_that_again) {
  find_slow();
  steps_until_action(kSlow_s);
  steps(7, 1.03 * kSlow_s);
  const auto undone = step(1.03 * kSlow_s);
  ASSERT_TRUE(undone);
  EXPECT_EQ(undone->placement, launch);
  steps(100, kSlow_s);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_TRUE(records[1].is_revert && records[1].made_worse);
}

TEST_F(MitigationOfTwo, tries_again_to_undo_what_made_it_worse) {
  find_slow();
  steps_until_action(kSlow_s);
  steps(7, 1.03 * kSlow_s);
  mitigation.add(now++, 1.03 * kSlow_s, false);
  ASSERT_TRUE(mitigation.decide());
  mitigation.failed(1);
  EXPECT_EQ(mitigation.placement(), cured);
  const auto undone = steps_until_action(1.03 * kSlow_s);
  ASSERT_TRUE(undone);
  EXPECT_EQ(undone->first, 20);
  EXPECT_EQ(undone->second.placement, launch);
}

TEST_F(MitigationOfTwo, does_not_bar_what_could_only_not_be_taken_back) {
  find_slow();
  steps_until_action(kSlow_s);
  steps(20, kCured_s);
  heal();
  for (int i = 0; i < 4; ++i) mitigation.add(now++, kCured_s, false);
  ASSERT_TRUE(mitigation.decide());
  mitigation.failed(1);
  find_slow();
  cured.microbatches = {9, 3};
  ASSERT_TRUE(steps_until_action(kSlow_s));
  EXPECT_EQ(mitigation.placement(), cured);
}

TEST_F(MitigationOfTwo, decides_anew_on_what_was_withdrawn) {
  find_slow();
  steps_until_action(kSlow_s);
  for (int i = 0; i < 7; ++i) EXPECT_FALSE(step(0.3)) << i;
  mitigation.add(now++, 0.3, false);
  const auto undone = mitigation.decide();
  ASSERT_TRUE(undone);
  EXPECT_EQ(undone->placement, launch);
  mitigation.withdraw();
  const auto again = step(0.3);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->placement, launch);
  EXPECT_FALSE(steps_until_action(0.3)) << "it is barred";
}

TEST_F(MitigationOfTwo, tries_what_made_it_worse_once_more_when_it_is_slow_again) {
  find_slow();
  steps_until_action(kSlow_s);
  steps(7, 1.03 * kSlow_s);
  ASSERT_TRUE(step(1.03 * kSlow_s));
  heal();
  steps(30, kHealthy_s);
  find_slow();
  EXPECT_EQ(steps_until_action(kSlow_s).value().second.placement, cured);
}

TEST_F(MitigationOfTwo, goes_back_from_a_first_action_after_a_second_one_was_undone) {
  const RunPlacement first = cured;
  find_slow();
  steps_until_action(kSlow_s);
  steps(20, kCured_s);
  Component slower = kRank;
  slower.factor = 2 * kRank.factor;
  find_slow(slower);
  cured.microbatches = {9, 3};
  ASSERT_TRUE(steps_until_action(kSlow_s));
  steps(7, 1.03 * kSlow_s);
  const auto undone = step(1.03 * kSlow_s);
  ASSERT_TRUE(undone);
  EXPECT_EQ(undone->placement, first);
  steps(20, kSlow_s);
  heal();
  const auto back = steps_until_action(kCured_s);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->first, 4);
  EXPECT_EQ(back->second.placement, launch);
  steps(8, kHealthy_s);
  ASSERT_EQ(records.size(), 4U);
  EXPECT_EQ(records[3].components.size(), 1U);
  EXPECT_TRUE(records[3].expected_cost_s > 0 && records[3].expected_cost_s <= records[3].lost_s);
  EXPECT_EQ(records[3].lost_s, records[0].lost_s);
}

TEST_F(MitigationOfTwo, waits_longer_each_time_for_a_way_back_that_fails) {
  find_slow();
  steps_until_action(kSlow_s);
  steps(20, kCured_s);
  heal();
  std::vector<std::int64_t> tried;
  for (int i = 0; i < 100; ++i) {
    mitigation.add(now++, kCured_s, false);
    if (!mitigation.decide()) continue;
    tried.push_back(now);
    mitigation.failed(1);
  }
  ASSERT_GE(tried.size(), 3U);
  EXPECT_GE(tried[1] - tried[0], 20);
  EXPECT_GE(tried[2] - tried[1], 40);
  EXPECT_EQ(mitigation.placement(), cured);
  EXPECT_EQ(mitigation.seconds(), kCost_s + static_cast<double>(tried.size()));
}

TEST_F(MitigationOfTwo, does_not_judge_an_action_while_something_else_becomes_slow) {
  find_slow();
  steps_until_action(kSlow_s);
  find_slow({.rank = 0, .factor = 2, .healthy_s = 0.05});
  steps(8, 1.5 * kSlow_s);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(mitigation.placement(), cured);
}

TEST_F(MitigationOfTwo, does_not_blame_an_action_before_it_is_known_whether_something_else_has_become_slow) {
  find_slow();
  steps_until_action(kSlow_s);
  const std::int64_t first = now;
  steps(3, kCured_s);  // it helps, and then another rank becomes slow
  steps(4, 2 * kSlow_s);
  is_inquired = true;  // as the caller does when it is told of the doubt
  steps(6, 2 * kSlow_s);
  EXPECT_EQ(doubts, std::vector<std::int64_t>{first + 4});
  find_slow({.rank = 0, .factor = 3, .healthy_s = 0.05});
  is_inquired = false;
  steps(30, 2 * kSlow_s);
  EXPECT_EQ(mitigation.placement(), cured);
}

TEST_F(MitigationOfTwo, undoes_an_action_once_it_is_known_that_nothing_else_has_become_slow) {
  find_slow();
  steps_until_action(kSlow_s);
  steps(7, 1.1 * kSlow_s);
  is_inquired = true;
  steps(6, 1.1 * kSlow_s);
  is_inquired = false;
  const auto undone = step(1.1 * kSlow_s);
  ASSERT_TRUE(undone);
  EXPECT_EQ(undone->placement, launch);
}

TEST_F(MitigationOfTwo, undoes_an_action_though_the_part_that_it_was_against_is_told_again) {
  find_slow();
  steps_until_action(kSlow_s);
  steps(7, 1.1 * kSlow_s);
  is_inquired = true;
  steps(6, 1.1 * kSlow_s);
  Component again = kRank;
  again.factor = 1.05 * kRank.factor;
  find_slow(again);
  is_inquired = false;
  const auto undone = step(1.1 * kSlow_s);
  ASSERT_TRUE(undone);
  EXPECT_EQ(undone->placement, launch);
}

TEST_F(MitigationOfTwo, does_not_blame_an_action_where_the_part_has_become_slower_itself) {
  find_slow();
  steps_until_action(kSlow_s);
  Component slower = kRank;
  slower.factor = 2 * kRank.factor;
  find_slow(slower);
  steps(8, 1.5 * kSlow_s);
  EXPECT_EQ(mitigation.placement(), cured);
}

TEST_F(MitigationOfTwo, undoes_an_action_that_may_itself_have_made_another_part_slow_and_tries_it_once_more) {
  find_slow();
  ASSERT_TRUE(steps_until_action(kSlow_s));
  for (const double factor : {2.0, 4.0}) {
    steps(7, 1.5 * kSlow_s);
    is_inquired = true;
    steps(3, 1.5 * kSlow_s);
    find_slow({.rank = 0, .factor = factor, .healthy_s = 0.05});
    is_inquired = false;
    const auto undone = step(1.5 * kSlow_s);
    ASSERT_TRUE(undone);
    EXPECT_EQ(undone->placement, launch);
    EXPECT_EQ(steps_until_action(kSlow_s).has_value(), factor == 2.0);
  }
}

/// Of an action: what its first iterations take, before others are worse.
class MitigationThatIsUndone : public MitigationOfTwo, public testing::WithParamInterface<double> {};

TEST_P(MitigationThatIsUndone, tries_once_more_what_is_disturbed_meanwhile) {
  find_slow();
  ASSERT_TRUE(steps_until_action(kSlow_s));
  steps(3, GetParam());
  steps(4, 2 * kSlow_s);
  mitigation.add(now++, 2 * kSlow_s, false);
  ASSERT_TRUE(mitigation.decide());
  find_slow({.rank = 0, .factor = 2, .healthy_s = 0.05});
  mitigation.applied(now, kCost_s);
  EXPECT_TRUE(steps_until_action(kSlow_s));
}

INSTANTIATE_TEST_SUITE_P(with, MitigationThatIsUndone, testing::Values(1.1 * kSlow_s, kCured_s));

TEST_F(MitigationOfTwo, doubts_what_brings_less_than_was_predicted) {
  find_slow();
  steps_until_action(kSlow_s);
  steps(8, 0.9 * kSlow_s);  // better than before, but not as good as kCured_s
  EXPECT_EQ(doubts.size(), 1U);
  EXPECT_EQ(mitigation.placement(), cured);
}

TEST_F(MitigationOfTwo, undoes_a_swap_that_a_slow_link_holds_up_in_its_new_group) {
  Component link{.kind = Component::Kind::link, .rank = 0, .other = 1, .cause = SlowCause::link};
  mitigation.take(FailSlow{.components = {kRank, link}, .onset = now, .healthy_iteration_s = kHealthy_s},
                  std::vector<RankReport>(2), grid);
  steps_until_action(kSlow_s);
  steps(5, 1.1 * kSlow_s);
  link.group = parallel::GroupKind::pipeline;
  find_slow(link);
  steps(2, 1.1 * kSlow_s);
  const auto undone = step(1.1 * kSlow_s);
  ASSERT_TRUE(undone);
  EXPECT_EQ(undone->placement, launch);
}

TEST_F(MitigationOfTwo, holds_a_component_that_flaps_longer_each_time) {
  int waited = 0;
  for (int flap = 0; flap < 4; ++flap) {
    find_slow();
    ASSERT_TRUE(steps_until_action(kSlow_s));
    steps(10, kCured_s);
    heal();
    const auto back = steps_until_action(kCured_s);
    ASSERT_TRUE(back);
    EXPECT_GE(back->first, waited);
    waited = back->first;
    EXPECT_TRUE(flap > 0 || waited == 4) << waited;
    steps(10, kHealthy_s);
  }
  EXPECT_GE(waited, 16);
}

TEST_F(MitigationOfTwo, what_is_masked_says_nothing_of_an_action) {
  find_slow();
  steps_until_action(kSlow_s);
  for (int i = 0; i < 8; ++i) mitigation.add(now++, 9, true);
  EXPECT_FALSE(mitigation.decide());
  steps(8, kCured_s);
  EXPECT_NEAR(records.at(0).achieved_s, kCured_s, 1e-9);
}

TEST_F(MitigationOfTwo, is_not_held_up_by_a_checkpoint_that_is_written_for_long) {
  find_slow();
  steps_until_action(kSlow_s);
  for (int i = 0; i < 64; ++i) mitigation.add(now++, 9, true);
  EXPECT_EQ(mitigation.take_records().size(), 1U);
  EXPECT_TRUE(mitigation.wants_proposals());
  cured.microbatches = {9, 3};
  const auto next = steps_until_action(kSlow_s);
  ASSERT_TRUE(next);
  EXPECT_GE(next->first, 5) << "what was lost while it was written buys nothing";
}

TEST_F(MitigationOfTwo, asks_of_an_action_to_win_enough_of_an_iteration_that_is_not_masked) {
  find_slow();
  for (int i = 0; i < 5; ++i) mitigation.add(now++, kSlow_s, false);
  mitigation.add(now++, 9, true);
  mitigation.propose({{.against = {kRank}, .placement = cured, .gain_s = 0.03 * kHealthy_s}});
  EXPECT_FALSE(mitigation.decide()) << "1.5 % of a slow one";
  mitigation.propose({{.against = {kRank}, .placement = cured, .gain_s = 0.05 * kHealthy_s}});
  EXPECT_TRUE(mitigation.decide());
}

TEST_F(MitigationOfTwo, decides_by_iterations_under_the_placement_in_force_alone) {
  find_slow();
  steps_until_action(kSlow_s);
  heal();
  for (int i = 0; i < 64; ++i) mitigation.add(now++, 9, true);
  const auto back = steps_until_action(kCured_s);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->first, 4) << "so many tell what one takes";
  steps(8, kHealthy_s);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_NEAR(records[1].measured_s, kCured_s, 1e-9);
}

TEST(Mitigation, tells_each_of_several_rings_that_change_at_once) {
  const parallel::GridShape shape{.pipeline = 2, .data = 4};
  const RunPlacement launch = RunPlacement::at_launch(shape, 6);
  Mitigation mitigation(launch, {.shape = shape});
  for (const Strategy strategy : kStrategies) mitigation.costs().estimate(strategy, kCost_s);
  const Component link{.kind = Component::Kind::link, .rank = 1, .other = 2, .cause = SlowCause::link};
  Component other = link;
  other.rank = 5;
  other.other = 6;
  mitigation.take(FailSlow{.components = {link, other}, .healthy_iteration_s = kHealthy_s},
                  std::vector<RankReport>(8), parallel::ProcessGrid(shape));
  RunPlacement cured = launch;
  cured.ring_order[{.stage = 0}] = {0, 1, 3, 2};
  cured.ring_order[{.stage = 1}] = {0, 2, 1, 3};
  mitigation.propose(
      {{.strategy = Strategy::ring, .against = {link, other}, .placement = cured, .gain_s = kSlow_s / 2}});
  for (int i = 0; i < 5; ++i) mitigation.add(i, kSlow_s, false);
  ASSERT_EQ(mitigation.decide().value_or(Action{}).placement, cured);
  mitigation.applied(5, kCost_s);
  for (int i = 5; i < 13; ++i) mitigation.add(i, kHealthy_s, false);
  const auto records = mitigation.take_records();
  ASSERT_EQ(records.size(), 2U);
  for (int stage = 0; stage < 2; ++stage) {
    const MitigationRecord& record = records[static_cast<std::size_t>(stage)];
    ASSERT_EQ(record.components.size(), 1U);
    EXPECT_TRUE(record.components[0].is_same_part(stage == 0 ? link : other));
    EXPECT_EQ(record.ring_order, cured.ring_order.at({.stage = stage}));
    EXPECT_EQ(record.cost_s, kCost_s / 2);
    EXPECT_NEAR(record.achieved_s, kHealthy_s, 1e-9);
  }
}

TEST_F(MitigationOfTwo, what_cannot_be_done_is_not_tried_again) {
  find_slow();
  for (int i = 0; i < 20; ++i) {
    mitigation.add(now++, kSlow_s, false);
    if (mitigation.wants_proposals()) {
      mitigation.await_proposals();
      mitigation.propose({{.against = {kRank}, .placement = cured, .gain_s = 0.08}});
    }
    if (mitigation.decide()) mitigation.failed(0.1);
  }
  EXPECT_FALSE(mitigation.decide());
  EXPECT_EQ(mitigation.placement(), launch);
}

}  // namespace
}  // namespace tenax::resilience
