#include "resilience/detection/iteration_tracker.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <random>
#include <vector>

namespace tenax::resilience {
namespace {

/// A run whose iterations take one second, but for a little noise.
class TrackedRun {
 public:
  explicit TrackedRun(DetectionOptions options = {}) : tracker_(make_run_length_detector(options), options) {}

  void iterate(int count, double seconds = 1, bool is_masked = false) {
    for (int i = 0; i < count; ++i, ++iteration_) {
      const double noise = 1 + 0.002 * (iteration_ * iteration_ % 7 - 3);
      if (const auto change = tracker_.add(iteration_, seconds * noise, is_masked)) told_.push_back(*change);
    }
  }
  void skip(int count) { iteration_ += count; }
  void own_action(ExpectedLevel expected = ExpectedLevel::unknown) { tracker_.own_action(expected); }
  const std::vector<Change>& told() const { return told_; }

 private:
  IterationTracker tracker_;
  std::vector<Change> told_;
  int iteration_ = 0;
};

void expect_change(const Change& change, std::int64_t iteration, double ratio) {
  EXPECT_EQ(change.iteration, iteration);
  EXPECT_NEAR(change.ratio(), ratio, 0.02 * ratio);
  EXPECT_GE(change.detected_at, change.iteration);
  EXPECT_GE(change.probability, 0.9);
  EXPECT_LE(change.probability, 1);
}

TEST(IterationTracker, tells_an_onset_and_its_relief_within_three_iterations) {
  TrackedRun run;
  run.iterate(50);
  run.iterate(20, 1.5);
  run.iterate(20);
  ASSERT_EQ(run.told().size(), 2U);
  expect_change(run.told()[0], 50, 1.5);
  expect_change(run.told()[1], 70, 1 / 1.5);
  EXPECT_LE(run.told()[0].detected_at, 53);
  EXPECT_LE(run.told()[1].detected_at, 73);
}

TEST(IterationTracker, spikes_are_no_changes) {
  TrackedRun run;
  for (int i = 0; i < 20; ++i) {
    run.iterate(36);
    run.iterate(1, i % 3 == 0 ? 4 : 1.4);
  }
  run.iterate(10);
  run.iterate(2, 1.4);
  run.iterate(30);
  EXPECT_TRUE(run.told().empty());
}

TEST(IterationTracker, less_than_the_least_change_is_never_told) {
  TrackedRun run;
  run.iterate(100);
  run.iterate(900, 1.05);
  EXPECT_TRUE(run.told().empty());
  TrackedRun sharper({.min_change = 0.03});
  sharper.iterate(100);
  sharper.iterate(100, 1.05);
  ASSERT_EQ(sharper.told().size(), 1U);
  expect_change(sharper.told()[0], 100, 1.05);
}

TEST(IterationTracker, the_rung_of_a_ladder_that_crosses_the_threshold_is_told) {
  for (const int rung : {20, 50, 90}) {
    TrackedRun run;
    run.iterate(100);
    run.iterate(rung, 1.08);
    run.iterate(rung, 1.08 * 1.08);
    ASSERT_EQ(run.told().size(), 1U) << rung;
    expect_change(run.told()[0], 100 + rung, 1.08 * 1.08);
    EXPECT_LE(run.told()[0].detected_at, 100 + rung + 8);
  }
}

TEST(IterationTracker, a_burst_that_was_told_ends) {
  for (const int burst : {4, 6, 11}) {
    TrackedRun run;
    run.iterate(60);
    run.iterate(burst, 1.5);
    run.iterate(60);
    ASSERT_EQ(run.told().size(), 2U) << burst;
    EXPECT_TRUE(run.told()[0].is_onset());
    EXPECT_FALSE(run.told()[1].is_onset());
    EXPECT_LE(run.told()[1].detected_at, 60 + burst + 12);
  }
}

TEST(IterationTracker, warm_up_is_no_level) {
  TrackedRun run;
  run.iterate(5, 30);
  run.iterate(100);
  EXPECT_TRUE(run.told().empty());
}

TEST(IterationTracker, nothing_is_told_before_the_16th_iteration_that_counts) {
  TrackedRun run;
  run.iterate(14);
  run.iterate(30, 2);
  ASSERT_EQ(run.told().size(), 1U);
  expect_change(run.told()[0], 14, 2);
  EXPECT_EQ(run.told()[0].detected_at, 5 + 16 - 1);
}

TEST(IterationTracker, masked_iterations_count_for_nothing) {
  TrackedRun run;
  run.iterate(50);
  run.iterate(40, 3, true);
  run.iterate(50);
  EXPECT_TRUE(run.told().empty());
  run.iterate(10, 3, true);
  run.iterate(10, 2);
  ASSERT_EQ(run.told().size(), 1U);
  expect_change(run.told()[0], 150, 2);
}

TEST(IterationTracker, iterations_may_be_missing) {
  TrackedRun run;
  run.iterate(50);
  run.skip(1000);
  run.iterate(50, 1.3);
  ASSERT_EQ(run.told().size(), 1U);
  expect_change(run.told()[0], 1050, 1.3);
}

TEST(IterationTracker, a_level_that_an_own_action_has_made_is_no_change) {
  TrackedRun run;
  run.iterate(60);
  run.own_action();
  run.iterate(60, 0.8);
  run.own_action();
  run.iterate(60, 0.85);
  EXPECT_TRUE(run.told().empty());
}

TEST(IterationTracker, an_own_action_does_not_hide_a_fault) {
  TrackedRun run;
  run.iterate(60);
  run.iterate(2, 1.6);
  run.own_action();
  run.iterate(30, 1.4);
  ASSERT_EQ(run.told().size(), 1U);
  expect_change(run.told()[0], 62, 1.4);
}

TEST(IterationTracker, an_own_action_does_not_hide_a_second_fault) {
  TrackedRun run;
  run.iterate(60);
  run.iterate(30, 2);
  run.own_action();  // half a cure
  run.iterate(30, 1.2);
  run.own_action();  // the way back, when it has healed; another fault begins with it
  run.iterate(30, 1.6);
  run.own_action();
  run.iterate(30, 1.3);
  ASSERT_EQ(run.told().size(), 2U);
  expect_change(run.told()[0], 60, 2);
  expect_change(run.told()[1], 120, 1.6);
}

// While shares are uneven an iteration takes a little longer than a healthy one, for as long as a component takes to heal.
std::vector<Change> told_with_way_back(double seconds_after) {
  TrackedRun run;
  run.iterate(60);
  run.iterate(30, 2);
  run.own_action();
  run.iterate(30, 1.24);
  run.own_action(ExpectedLevel::healthy);
  run.iterate(60, seconds_after);
  return run.told();
}

TEST(IterationTracker, the_way_back_does_not_hide_a_fault_that_begins_with_it) {
  const std::vector<Change> told = told_with_way_back(1.3);
  ASSERT_EQ(told.size(), 2U);
  expect_change(told[1], 120, 1.3);
}

TEST(IterationTracker, after_the_way_back_healthy_iterations_are_no_change) {
  EXPECT_EQ(told_with_way_back(1.02).size(), 1U);
}

TEST(IterationTracker, other_work_is_no_change_and_a_fault_in_it_is_one) {
  TrackedRun run;
  run.iterate(60);
  run.own_action(ExpectedLevel::other_work);
  run.iterate(60, 1.5);
  EXPECT_TRUE(run.told().empty()) << "each replica computes half as much again";
  run.iterate(60, 1.5 * 1.3);
  ASSERT_EQ(run.told().size(), 1U);
  expect_change(run.told()[0], 120, 1.3);
}

// Ranks that share cores: iterations vary by 12 %, and become a little longer at times.
TEST(IterationTracker, of_noisy_iterations_each_change_is_told_after_the_one_before) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> noise(0, 0.12);
    IterationTracker tracker(make_run_length_detector({}), {});
    std::optional<Change> last;
    for (int i = 0; i < 600; ++i) {
      const auto change = tracker.add(i, (i / 100 % 2 == 0 ? 1 : 1.09) * std::exp(noise(random)));
      if (!change) continue;
      EXPECT_GT(change->iteration, last ? last->iteration : -1) << "seed " << seed << ", iteration " << i;
      last = change;
    }
  }
}

TEST(IterationTracker, after_an_own_action_that_cures_a_fault_the_next_one_is_told) {
  TrackedRun run;
  run.iterate(60);
  run.iterate(30, 1.6);
  run.own_action();
  run.iterate(60, 1.02);
  run.iterate(30, 1.6);
  ASSERT_EQ(run.told().size(), 2U);
  expect_change(run.told()[1], 150, 1.6 / 1.02);
}

}  // namespace
}  // namespace tenax::resilience
