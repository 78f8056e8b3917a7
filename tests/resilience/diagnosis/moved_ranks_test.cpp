// Ranks that have changed places while one was slow: what is slow there, and when it has healed.
#include <gtest/gtest.h>

#include "resilience/diagnosis/inquiry.hpp"

namespace tenax::resilience {
namespace {

/// A pipeline of three stages whose passes take 40, 60 and 80 ms an iteration. Rank 1 has been told: it
/// computes twice as long.
class MovedRanks : public testing::Test {
 protected:
  MovedRanks() {
    steps(30, 0.1);
    compute(1, 0.12);
    inquiry.add(now, 0, 0.15, Change{.iteration = now, .detected_at = now, .before_s = 0.1, .after_s = 0.15});
    steps(10, 0.15);
  }

  void steps(int count, double seconds) {
    for (int i = 0; i < count; ++i, ++now) {
      if (inquiry.order().wants_reports) inquiry.take(now, reports, 0);
      inquiry.add(now, 0, seconds, {});
      for (InquiryEvent& event : inquiry.take_events()) events.push_back(std::move(event));
    }
  }
  void compute(std::size_t rank, double seconds) { reports[rank].now.compute_s = seconds; }
  /// Ranks 0 and 1 exchange their stages, and have no healthy past there.
  void exchange() {
    inquiry.set_grid(parallel::ProcessGrid({.pipeline = 3}, {1, 0, 2}, 1));
    for (const std::size_t rank : {0, 1}) reports[rank].healthy = {};
    compute(0, 0.06);
    compute(1, 0.08);
  }
  const Component& told(std::size_t i) const { return std::get<FailSlow>(events.at(i)).components.at(0); }

  static RankReport healthy(double compute_s) {
    return {.now = {.compute_s = compute_s}, .healthy = {.compute_s = compute_s}};
  }
  std::vector<RankReport> reports{healthy(0.04), healthy(0.06), healthy(0.08)};
  Inquiry inquiry{parallel::ProcessGrid({.pipeline = 3}),
                  Inquiry::Options{.validation_s = [](const Suspects&) { return 0.0; }}};
  std::vector<InquiryEvent> events;
  std::int64_t now = 0;
};

TEST_F(MovedRanks, have_healed_when_they_take_what_their_new_stage_takes_healthy) {
  ASSERT_EQ(events.size(), 1U);
  EXPECT_NEAR(told(0).factor, 2, 1e-9);
  exchange();
  steps(20, 0.13);
  EXPECT_EQ(events.size(), 1U) << "it still takes twice as long";
  compute(1, 0.04);
  steps(1, 0.1);
  ASSERT_EQ(events.size(), 2U);
  const Component healed = std::get<Healed>(events[1]).component;
  EXPECT_EQ(healed.rank, 1);
  EXPECT_NEAR(healed.factor, 1, 1e-9);
}

TEST_F(MovedRanks, are_told_when_they_become_slow_while_another_still_is) {
  exchange();
  steps(20, 0.13);
  compute(0, 0.12);
  inquiry.add(now, 0, 0.2, Change{.iteration = now, .detected_at = now, .before_s = 0.13, .after_s = 0.2});
  steps(10, 0.2);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(told(1).rank, 0);
  EXPECT_NEAR(told(1).factor, 2, 1e-9);
  EXPECT_EQ(inquiry.slow().size(), 2U);
}

TEST_F(MovedRanks, are_reported_with_what_their_stage_takes_healthy) {
  exchange();
  steps(2, 0.13);
  EXPECT_NEAR(inquiry.reports()[0].healthy.compute_s, 0.06, 1e-9);
  EXPECT_NEAR(inquiry.reports()[1].healthy.compute_s, 0.04, 1e-9);
  EXPECT_NEAR(inquiry.reports()[2].healthy.compute_s, 0.08, 1e-9);
}

}  // namespace
}  // namespace tenax::resilience
