#include "resilience/adaptation/level_tracker.hpp"

#include <gtest/gtest.h>

namespace tenax::resilience {
namespace {

constexpr double kNoise = 0.1, kThreshold = 1;

LevelTracker tracker_at(double value, int times = 5, double quantile = 0.75) {
  LevelTracker tracker({.quantile = quantile});
  for (int i = 0; i < times; ++i) tracker.add(value, kNoise, kThreshold);
  return tracker;
}

TEST(LevelTracker, averages_noise) {
  LevelTracker tracker({});
  for (int i = 0; i < 20; ++i) tracker.add(i % 2 == 0 ? 9.8 : 10.2, kNoise, kThreshold);
  EXPECT_NEAR(tracker.level(), 10, 0.1);
  EXPECT_FALSE(tracker.changed());
}

TEST(LevelTracker, follows_a_slow_drift_without_a_change) {
  LevelTracker tracker({});
  bool changed = false;
  for (int i = 0; i < 200; ++i) {
    tracker.add(10 + 0.05 * i, kNoise, kThreshold);
    changed = changed || tracker.changed();
  }
  EXPECT_FALSE(changed);
  EXPECT_NEAR(tracker.level(), 20, 0.5);
}

TEST(LevelTracker, answers_a_clear_rise_at_once_and_a_clear_fall_after_two_iterations) {
  LevelTracker tracker = tracker_at(0);
  tracker.add(30, kNoise, kThreshold);
  EXPECT_TRUE(tracker.changed());
  EXPECT_EQ(tracker.expected(), 30);
  tracker.add(30, kNoise, kThreshold);
  tracker.add(0, kNoise, kThreshold);
  EXPECT_EQ(tracker.expected(), 30);
  tracker.add(0, kNoise, kThreshold);
  EXPECT_EQ(tracker.expected(), 0);
}

TEST(LevelTracker, wants_a_second_iteration_where_the_first_is_uncertain) {
  LevelTracker tracker = tracker_at(10);
  tracker.add(15, 5, kThreshold);
  EXPECT_EQ(tracker.level(), 10);
  tracker.add(10, kNoise, kThreshold);
  tracker.add(15, 5, kThreshold);
  EXPECT_EQ(tracker.level(), 10);
  tracker.add(14, 5, kThreshold);
  EXPECT_TRUE(tracker.changed());
  EXPECT_EQ(tracker.level(), 14);
}

TEST(LevelTracker, takes_two_opposite_outliers_for_noise) {
  LevelTracker tracker = tracker_at(10);
  tracker.add(15, 5, kThreshold);
  tracker.add(5, 5, kThreshold);
  EXPECT_EQ(tracker.level(), 10);
}

TEST(LevelTracker, expects_the_quantile_of_what_keeps_moving_and_settles_when_it_stops) {
  LevelTracker tracker = tracker_at(0);
  for (int i = 0; i < 16; ++i) tracker.add(i % 2 == 0 ? 30 : 0, kNoise, kThreshold);
  EXPECT_TRUE(tracker.restless());
  EXPECT_FALSE(tracker.changed());
  EXPECT_EQ(tracker.expected(), 30);
  for (int i = 0; i < 16; ++i) tracker.add(0, kNoise, kThreshold);
  EXPECT_FALSE(tracker.restless());
  EXPECT_EQ(tracker.expected(), 0);
}

}  // namespace
}  // namespace tenax::resilience
