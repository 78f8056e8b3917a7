#include "resilience/mitigation/ski_rental.hpp"

#include <gtest/gtest.h>

#include <cstdio>

#include "resilience/mitigation/action_costs.hpp"
#include "tests/resilience/mitigation/slow_episode.hpp"

namespace tenax::resilience {
namespace {

constexpr PricedStrategy kShares{.strategy = Strategy::microbatches, .cost_s = 3, .gain_s = 0.2};
constexpr PricedStrategy kSwap{.strategy = Strategy::swap, .cost_s = 6, .gain_s = 0.4};
constexpr PricedStrategy kRestart{.strategy = Strategy::restart, .cost_s = 12, .gain_s = 0.5};

/// Each of 1.5 s where 1 s is healthy.
void add_slow_iterations(SkiRental& rental, int iterations) {
  for (int i = 0; i < iterations; ++i) rental.add_iteration(1.5, 1);
}

std::optional<Strategy> due(const SkiRental& rental, const std::vector<PricedStrategy>& candidates) {
  const std::optional<PricedStrategy> candidate = rental.due(candidates);
  return candidate ? std::optional(candidate->strategy) : std::nullopt;
}

TEST(SkiRental, applies_nothing_before_its_cost_is_lost) {
  SkiRental rental(0.02, {});
  add_slow_iterations(rental, 5);
  EXPECT_EQ(rental.lost_s(Strategy::microbatches), 2.5);
  EXPECT_FALSE(due(rental, {kSwap, kShares}));
  add_slow_iterations(rental, 1);
  EXPECT_EQ(due(rental, {kSwap, kShares}), Strategy::microbatches);
}

TEST(SkiRental, goes_on_in_order_of_cost_after_a_partial_cure) {
  SkiRental rental(0.02, {});
  add_slow_iterations(rental, 6);
  rental.applied(Strategy::microbatches);
  for (int i = 0; i < 12; ++i) {
    EXPECT_FALSE(due(rental, {kRestart, kSwap})) << i;
    rental.add_iteration(1.25, 1);
  }
  EXPECT_EQ(due(rental, {kRestart, kSwap}), Strategy::swap);
  rental.applied(Strategy::swap);
  add_slow_iterations(rental, 11);
  EXPECT_FALSE(due(rental, {kRestart}));
  add_slow_iterations(rental, 1);
  EXPECT_EQ(due(rental, {kRestart}), Strategy::restart);
}

TEST(SkiRental, wants_the_cost_lost_again_before_it_applies_a_strategy_again) {
  SkiRental rental(0.02, {});
  add_slow_iterations(rental, 9);
  rental.applied(Strategy::microbatches);
  EXPECT_EQ(rental.lost_s(Strategy::microbatches), 0);
  add_slow_iterations(rental, 5);
  EXPECT_FALSE(due(rental, {kShares}));
  add_slow_iterations(rental, 1);
  EXPECT_EQ(due(rental, {kShares}), Strategy::microbatches);
}

TEST(SkiRental, takes_of_equally_cheap_ones_the_one_that_wins_more) {
  SkiRental rental(0.02, {.since_onset_s = 100, .since_healthy_s = 100});
  PricedStrategy ring = kSwap;
  ring.strategy = Strategy::ring;
  EXPECT_EQ(due(rental, {kSwap, ring}), Strategy::ring);
  ring.gain_s = 0.1;
  EXPECT_EQ(due(rental, {ring, kSwap}), Strategy::swap);
}

TEST(SkiRental, wants_a_gain_of_a_share_of_the_iteration) {
  SkiRental rental(0.2, {});
  add_slow_iterations(rental, 100);
  EXPECT_FALSE(due(rental, {kShares}));
  EXPECT_EQ(due(rental, {kShares, kSwap}), Strategy::swap);
  SkiRental easy(0, {});
  add_slow_iterations(easy, 100);
  EXPECT_EQ(due(easy, {kShares}), Strategy::microbatches);
  EXPECT_FALSE(due(easy, {{.strategy = Strategy::swap, .cost_s = 1, .gain_s = 0}}));
}

TEST(SkiRental, counts_for_a_restart_what_was_lost_before_this_component_was_slow) {
  SkiRental rental(0.02, {.since_onset_s = 2, .since_healthy_s = 11});
  add_slow_iterations(rental, 2);
  EXPECT_EQ(rental.lost_s(Strategy::swap), 3);
  EXPECT_EQ(rental.lost_s(Strategy::restart), 12);
  EXPECT_EQ(due(rental, {kRestart, kSwap}), Strategy::restart);
}

TEST(SkiRental, takes_no_iteration_for_a_gain_because_it_was_quick) {
  SkiRental rental(0.02, {});
  add_slow_iterations(rental, 2);
  rental.add_iteration(0.1, 1);
  EXPECT_EQ(rental.lost_s(Strategy::swap), 1);
}

TEST(SkiRental, comes_back_to_what_made_it_worse_only_when_it_is_slow_again) {
  SkiRental rental(0.02, {});
  add_slow_iterations(rental, 100);
  rental.bar(Strategy::microbatches);
  EXPECT_EQ(due(rental, {kShares, kSwap}), Strategy::swap);
  EXPECT_FALSE(due(rental, {kShares}));
  rental.begin_again({});
  EXPECT_FALSE(due(rental, {kShares}));
  add_slow_iterations(rental, 6);
  EXPECT_EQ(due(rental, {kShares}), Strategy::microbatches);
}

TEST(SkiRental, comes_back_once_to_what_may_have_made_it_worse) {
  SkiRental rental(0.02, {});
  add_slow_iterations(rental, 100);
  rental.doubt(Strategy::microbatches);
  EXPECT_EQ(due(rental, {kShares}), Strategy::microbatches);
  rental.doubt(Strategy::microbatches);
  EXPECT_FALSE(due(rental, {kShares}));
}

/// The worst ratio to the best choice in hindsight in 10 000 episodes, of which each may lose `options` + 1 times as much
/// and a few iterations' losses: one iteration's with one option.
double worst_ratio(std::size_t options) {
  std::mt19937 random(11);
  const auto factor = static_cast<double>(options + 1), overshoots = static_cast<double>(2 * options - 1);
  double worst = 0;
  for (int i = 0; i < 10'000; ++i) {
    const SlowEpisode episode = SlowEpisode::random(options, random);
    const double least_s = episode.least_lost_s(), overshoot_s = overshoots * episode.longest_loss_s();
    const double lost_s = episode.lost_by_ski_rental_s();
    EXPECT_LE(lost_s, (factor * least_s + overshoot_s) * (1 + 1e-12)) << i;
    worst = std::max(worst, (lost_s - overshoot_s) / least_s);
  }
  return worst;
}

TEST(SkiRental, loses_at_most_twice_what_the_better_of_nothing_and_one_strategy_would_have) {
  std::printf("worst ratio: %.3f\n", worst_ratio(1));
}

// No rule promises twice for two strategies a and b beside doing nothing: stopped right after b, it has lost a, b and
// what bought a more than the least of b and of a with its loss, of which one is at most the half.
TEST(SkiRental, loses_at_most_k_plus_1_times_what_the_best_of_k_strategies_would_have) {
  for (std::size_t options = 2; options <= kStrategies.size(); ++options)
    std::printf("worst ratio with %zu strategies: %.3f\n", options, worst_ratio(options));
}

TEST(ActionCosts, are_estimated_until_they_are_measured) {
  ActionCosts costs;
  costs.estimate(Strategy::swap, 4);
  EXPECT_EQ(costs.seconds(Strategy::swap), 4);
  costs.measure(Strategy::swap, 7);
  costs.estimate(Strategy::swap, 5);
  EXPECT_EQ(costs.seconds(Strategy::swap), 7);
}

}  // namespace
}  // namespace tenax::resilience
