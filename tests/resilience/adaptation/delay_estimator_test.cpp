#include "resilience/adaptation/delay_estimator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tenax::resilience {
namespace {

using parallel::TransferRecord;

constexpr double kDelay_s = 0.030, kOp_s = 0.010;

/// `count` messages ready at an interval; the link carries one at a time. `tells`: it says when each started.
std::vector<TransferRecord> serial_link(int count, double interval_s, double delay_s, bool tells) {
  std::vector<TransferRecord> samples;
  double free_s = 0;
  for (int i = 0; i < count; ++i) {
    TransferRecord sample{.microbatch = i, .begin_s = i * interval_s};
    const double started_s = std::max(sample.begin_s, free_s);
    sample.end_s = free_s = started_s + delay_s;
    if (tells) sample.started_s = started_s;
    samples.push_back(sample);
  }
  return samples;
}

/// Transfers overlap: a delay and nothing else.
std::vector<TransferRecord> overlapping_link(int count, double interval_s, double delay_s) {
  std::vector<TransferRecord> samples;
  for (int i = 0; i < count; ++i)
    samples.push_back({.microbatch = i, .begin_s = i * interval_s, .end_s = i * interval_s + delay_s});
  return samples;
}

TEST(Quantile, interpolates) {
  EXPECT_EQ(quantile({}, 0.5), 0);
  EXPECT_EQ(quantile({3}, 0.9), 3);
  EXPECT_EQ(quantile({4, 1, 2, 3}, 0.5), 2.5);
  EXPECT_EQ(quantile({4, 1, 2, 3}, 1), 4);
}

TEST(DelayEstimator, says_when_nothing_was_measured) {
  EXPECT_EQ(estimate_delay({}, 0.001).samples, 0);
  EXPECT_EQ(estimate_delay({}, 0.001).error_s, 0.001);
}

TEST(DelayEstimator, does_not_count_a_backlog_that_the_link_tells_of) {
  const auto measured = estimate_delay(serial_link(12, kOp_s, kDelay_s, true), 0);
  EXPECT_NEAR(measured.delay_s, kDelay_s, 1e-12);
  EXPECT_NEAR(measured.spread_s, 0, 1e-12);
  EXPECT_NEAR(measured.overhead_s, 0, 1e-12);
  EXPECT_EQ(measured.samples, 12);
}

TEST(DelayEstimator, does_not_count_a_backlog_that_it_must_infer) {
  const auto measured = estimate_delay(serial_link(12, kOp_s, kDelay_s, false), 0);
  EXPECT_NEAR(measured.delay_s, kDelay_s, 1e-12);
  EXPECT_EQ(measured.samples, 12);
}

TEST(DelayEstimator, takes_samples_in_any_order) {
  auto samples = serial_link(12, kOp_s, kDelay_s, false);
  std::shuffle(samples.begin(), samples.end(), std::mt19937(1));
  EXPECT_NEAR(estimate_delay(samples, 0).delay_s, kDelay_s, 1e-12);
}

TEST(DelayEstimator, measures_transfers_that_overlap_by_those_that_found_the_link_idle) {
  // Bursts of three, long apart: of each burst only the first is certain, the others would say 10 ms.
  std::vector<TransferRecord> samples;
  for (int burst = 0; burst < 4; ++burst)
    for (TransferRecord sample : overlapping_link(3, kOp_s, kDelay_s)) {
      sample.begin_s += burst;
      sample.end_s += burst;
      samples.push_back(sample);
    }
  EXPECT_NEAR(estimate_delay(samples, 0).delay_s, kDelay_s, 1e-12);
}

TEST(DelayEstimator, is_not_moved_by_a_quarter_of_messages_held_up_by_something_else) {
  std::mt19937 random(7);
  for (const bool tells : {true, false}) {
    auto samples = serial_link(24, 0.050, kDelay_s, tells);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      samples[i].end_s += std::uniform_real_distribution(0.0, 0.0005)(random);
      if (i % 4 == 1) samples[i].end_s += std::uniform_real_distribution(0.005, 0.2)(random);
    }
    EXPECT_NEAR(estimate_delay(samples, 0).delay_s, kDelay_s, 0.0006) << tells;
  }
}

TEST(DelayEstimator, reports_median_and_spread_of_a_delay_that_changes) {
  std::mt19937 random(3);
  std::normal_distribution<double> delay(0.030, 0.010);
  std::vector<TransferRecord> samples;
  for (int i = 0; i < 400; ++i)
    samples.push_back({.microbatch = i,
                       .begin_s = double(i),
                       .end_s = double(i) + 0.002 + delay(random),
                       .started_s = double(i) + 0.002});
  const auto measured = estimate_delay(samples, 0);
  EXPECT_NEAR(measured.delay_s, 0.030, 0.002);
  EXPECT_NEAR(measured.spread_s, 0.010, 0.002);
  EXPECT_NEAR(measured.overhead_s, 0.002, 1e-9);
}

TEST(DelayEstimator, reports_the_side_of_the_majority_and_a_large_spread_when_the_delay_jumped_midway) {
  auto samples = overlapping_link(20, 0.1, 0.001);
  for (std::size_t i = 12; i < samples.size(); ++i) samples[i].end_s += kDelay_s;
  const auto measured = estimate_delay(samples, 0);
  EXPECT_NEAR(measured.delay_s, 0.001, 1e-9);
  EXPECT_GT(measured.spread_s, 0.015);
}

TEST(DelayEstimator, uses_late_noticed_arrivals_as_bounds_only) {
  auto samples = serial_link(12, 0.050, kDelay_s, true);
  for (std::size_t i = 0; i < samples.size(); ++i)
    if (i % 4 != 0) {
      samples[i].prompt = false;
      samples[i].end_s += 0.015;
    }
  const auto measured = estimate_delay(samples, 0);
  EXPECT_NEAR(measured.delay_s, kDelay_s, 1e-12);
  EXPECT_EQ(measured.samples, 3);
  EXPECT_FALSE(measured.at_most);
}

TEST(DelayEstimator, tells_how_late_arrivals_may_have_been_noticed) {
  auto samples = overlapping_link(12, 0.050, 0.001);
  EXPECT_EQ(estimate_delay(samples, 0).late_s, 0);
  for (TransferRecord& sample : samples) {
    sample.absent_s = sample.end_s + 0.001;  // the receiver last looked in vain
    sample.end_s += 0.008;                   // and was given a core again
  }
  const auto measured = estimate_delay(samples, 0);
  EXPECT_NEAR(measured.delay_s, 0.009, 1e-12);
  EXPECT_NEAR(measured.at_least_s(), 0.002, 1e-12);
  EXPECT_FALSE(measured.at_most);
}

TEST(DelayEstimator, does_not_say_that_a_message_arrived_before_it_was_sent) {
  auto samples = overlapping_link(12, 0.050, 0.005);
  for (TransferRecord& sample : samples) sample.absent_s = sample.begin_s - 1;
  const auto measured = estimate_delay(samples, 0);
  EXPECT_NEAR(measured.delay_s, 0.005, 1e-12);
  EXPECT_NEAR(measured.at_least_s(), 0, 1e-12);
}

TEST(DelayEstimator, gives_the_least_bound_when_no_arrival_was_noticed_promptly) {
  auto samples = serial_link(12, 0.050, 0.001, false);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i].prompt = false;
    samples[i].end_s += 0.002 + 0.001 * static_cast<double>(i);
  }
  const auto measured = estimate_delay(samples, 0);
  EXPECT_TRUE(measured.at_most);
  EXPECT_NEAR(measured.delay_s, 0.003, 1e-12);
}

// A message that queued behind one of unknown arrival could have taken anything up to its whole wait.
TEST(DelayEstimator, does_not_infer_a_start_from_an_arrival_that_was_noticed_late) {
  std::vector<TransferRecord> samples;
  for (int i = 0; i < 10; ++i) {
    const double base_s = i;
    samples.push_back({.microbatch = 2 * i, .begin_s = base_s, .end_s = base_s + 0.055, .prompt = false});
    samples.push_back({.microbatch = 2 * i + 1, .begin_s = base_s + 0.010, .end_s = base_s + 0.060});
  }
  const auto measured = estimate_delay(samples, 0);
  EXPECT_TRUE(measured.at_most);
  EXPECT_NEAR(measured.delay_s, 0.050, 1e-9);
}

TEST(DelayEstimator, never_reports_a_negative_delay_because_of_the_clocks_error) {
  EXPECT_EQ(estimate_delay(overlapping_link(5, 0.1, -0.0001), 0.0002).delay_s, 0);
}

}  // namespace
}  // namespace tenax::resilience
