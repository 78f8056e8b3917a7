// A fault that comes back soon after it has healed, as ranks' own histories tell of it.
#include <gtest/gtest.h>

#include "resilience/diagnosis/figure_history.hpp"
#include "resilience/diagnosis/inquiry.hpp"

namespace tenax::resilience {
namespace {

constexpr double kFast_s = 0.1, kLate_s = 0.16;

/// Four ranks that remember what they measure, and report what they are asked for.
class RecurringFault : public testing::Test {
 protected:
  void steps(int count, double factor) {
    for (int i = 0; i < count; ++i, ++now) {
      const InquiryOrder asked = std::exchange(order, inquiry.order());
      if (asked.wants_reports) take(asked);
      for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        if (order.healthy_before > 0) ranks[rank].was_healthy(order.healthy_from, order.healthy_before);
        ranks[rank].add(now, {.compute_s = rank == 2 ? factor * 0.08 : 0.08});
      }
      inquiry.add(now, 0, factor > 1 ? kLate_s : kFast_s, std::exchange(change, {}));
      for (InquiryEvent& event : inquiry.take_events()) events.push_back(std::move(event));
    }
  }
  void take(const InquiryOrder& asked) {
    std::vector<RankReport> reports;
    for (const FigureHistory& rank : ranks) reports.push_back(rank.report(asked.since));
    inquiry.take(now, reports, 0);
  }
  /// Rank 2 is slow for so many steps, which is known after four, and then healthy.
  void be_slow(int count) {
    const std::int64_t began = now;
    steps(4, 1.8);
    change = Change{.iteration = began, .detected_at = now, .before_s = kFast_s, .after_s = kLate_s};
    steps(count - 4, 1.8);
  }
  const FailSlow& told(std::size_t i) const { return std::get<FailSlow>(events.at(i)); }

  std::vector<FigureHistory> ranks{4};
  Inquiry inquiry{parallel::ProcessGrid({.data = 4}),
                  Inquiry::Options{.validation_s = [](const Suspects&) { return 0.0; }}};
  InquiryOrder order;
  std::optional<Change> change;
  std::vector<InquiryEvent> events;
  std::int64_t now = 0;
};

TEST_F(RecurringFault, is_found_however_soon_it_comes_back) {
  for (const int healthy : {8, 12, 20, 32}) {
    events.clear();
    steps(40, 1);
    be_slow(50);
    steps(healthy, 1);
    be_slow(20);
    steps(20, 1);
    ASSERT_EQ(events.size(), 4U) << healthy;
    for (const std::size_t onset : {0, 2}) {
      EXPECT_EQ(told(onset).cause, SlowCause::compute) << healthy;
      ASSERT_EQ(told(onset).components.size(), 1U) << healthy;
      EXPECT_NEAR(told(onset).components[0].factor, 1.8, 1e-9);
      EXPECT_TRUE(std::holds_alternative<Healed>(events[onset + 1]));
    }
  }
}

TEST_F(RecurringFault, is_compared_with_what_was_measured_since_it_had_healed) {
  steps(40, 1);
  be_slow(50);
  const std::int64_t healed = now;
  steps(30, 1);
  EXPECT_EQ(events.size(), 2U);
  be_slow(5);
  const InquiryOrder asks = inquiry.order();
  EXPECT_GE(asks.healthy_from, healed);
  EXPECT_LE(asks.healthy_from, healed + 8);
  EXPECT_EQ(asks.healthy_before, healed + 30);
}

}  // namespace
}  // namespace tenax::resilience
