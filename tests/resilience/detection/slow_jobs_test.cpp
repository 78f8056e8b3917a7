// The papers' comparison, on one seed; tests/bench/detect_bench.cpp does it on five.
#include <gtest/gtest.h>

#include "tests/resilience/detection/detection_score.hpp"

namespace tenax::resilience {
namespace {

constexpr std::uint32_t kSeed = 1;

void expect_faultless(const DetectionScore& score) {
  EXPECT_EQ(score.missed, 0);
  EXPECT_EQ(score.untrue, 0);
  EXPECT_EQ(score.misplaced, 0);
  EXPECT_EQ(score.misjudged, 0);
  EXPECT_EQ(score.late, 0);
  EXPECT_LE(score.late_clear, score.clear / 20);
}

TEST(SlowJobs, those_of_compute_are_all_told_and_nothing_else) {
  const DetectionScore told = score(make_run_length_detector, compute_jobs(kSeed));
  EXPECT_EQ(told.jobs, 392);
  expect_faultless(told);
}

TEST(SlowJobs, those_of_communication_are_all_told_and_nothing_else) {
  const DetectionScore told = score(make_run_length_detector, communication_jobs(kSeed));
  EXPECT_GE(told.changes, 43);
  expect_faultless(told);
}

TEST(SlowJobs, without_verification_and_spikes_the_posterior_tells_much_that_is_untrue) {
  EXPECT_GT(score(make_raw_detector, communication_jobs(kSeed)).untrue, 43);
  EXPECT_GT(score(make_window_detector, compute_jobs(kSeed)).untrue, 6);
}

}  // namespace
}  // namespace tenax::resilience
