#include "resilience/detection/run_posterior.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace tenax::resilience {
namespace {

constexpr std::int64_t kChange = 100;

/// Values near 0 that are known beforehand.
double noise(std::int64_t number) { return 0.01 * std::sin(static_cast<double>(number * number)); }

RunPosterior steady_posterior(RunPosterior::Options options = {}) {
  RunPosterior posterior(options);
  for (std::int64_t i = 0; i < kChange; ++i) posterior.add(i, noise(i));
  return posterior;
}

TEST(RunPosterior, holds_the_first_run_while_nothing_changes) {
  const RunPosterior posterior = steady_posterior();
  EXPECT_EQ(posterior.in_force().begin(), 0);
  EXPECT_LT(posterior.since(1), 0.1);
  EXPECT_NEAR(posterior.since(0), 1, 1e-4);
}

TEST(RunPosterior, knows_the_level_and_the_noise) {
  const RunPosterior posterior = steady_posterior();
  EXPECT_NEAR(posterior.in_force().level(), 0, 0.003);
  EXPECT_NEAR(posterior.in_force().noise(), 0.0071, 0.002);
}

TEST(RunPosterior, takes_one_high_value_for_a_spike_and_two_for_a_new_level) {
  RunPosterior posterior = steady_posterior();
  posterior.add(kChange, 0.3);
  EXPECT_LT(posterior.since(kChange), 0.5);
  posterior.add(kChange + 1, 0.3);
  EXPECT_GT(posterior.since(kChange), 0.9);
  EXPECT_EQ(posterior.in_force().begin(), kChange);
}

TEST(RunPosterior, a_spike_leaves_the_run_as_it_was) {
  RunPosterior posterior = steady_posterior();
  const double level = posterior.in_force().level(), noise_before = posterior.in_force().noise();
  posterior.add(kChange, 1.2);
  EXPECT_NEAR(posterior.in_force().level(), level, 1e-6);
  EXPECT_NEAR(posterior.in_force().noise(), noise_before, 1e-6);
}

TEST(RunPosterior, two_spikes_of_different_height_are_no_level) {
  RunPosterior posterior = steady_posterior();
  posterior.add(kChange, 0.3);
  posterior.add(kChange + 1, 1.1);
  posterior.add(kChange + 2, noise(kChange));
  EXPECT_LT(posterior.since(kChange), 0.1);
}

TEST(RunPosterior, without_spikes_one_value_begins_a_run) {
  RunPosterior posterior = steady_posterior({.spike_share = 0});
  posterior.add(kChange, 0.3);
  EXPECT_GT(posterior.since(kChange), 0.9);
}

// Seconds that were rounded, as those of a table are.
TEST(RunPosterior, bears_the_same_value_however_often_it_comes) {
  constexpr std::int64_t kMany = 300'000;
  RunPosterior posterior({});
  for (std::int64_t i = 0; i < kMany; ++i) posterior.add(i, -0.5);
  EXPECT_NEAR(posterior.since(0), 1, 1e-4);
  EXPECT_NEAR(posterior.since(kMany - 1000), 0, 1e-4);
  EXPECT_DOUBLE_EQ(posterior.in_force().noise(), 1e-6);
  for (std::int64_t i = kMany; i < kMany + 8; ++i) posterior.add(i, -0.2);
  EXPECT_GT(posterior.since(kMany), 0.9);
}

TEST(RunPosterior, bears_any_value) {
  RunPosterior posterior = steady_posterior({.spike_share = 0});
  for (std::int64_t i = 0; i < 6; ++i) posterior.add(kChange + i, i % 2 == 0 ? 700 : -700);
  EXPECT_TRUE(std::isfinite(posterior.in_force().level()));
  EXPECT_NEAR(posterior.since(0), 1, 1e-4);
}

}  // namespace
}  // namespace tenax::resilience
