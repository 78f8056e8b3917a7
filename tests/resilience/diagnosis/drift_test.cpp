// A rank that becomes slower little by little, as its iterations and the ranks' own histories tell of it.
#include <gtest/gtest.h>

#include "resilience/detection/iteration_tracker.hpp"
#include "resilience/diagnosis/figure_history.hpp"
#include "resilience/diagnosis/inquiry.hpp"

namespace tenax::resilience {
namespace {

/// Four ranks, of which rank 2 computes as long as it is told, the others `others_s`; 20 ms of an iteration are
/// nobody's.
class Ladder : public testing::Test {
 protected:
  void steps(int count, double slowest_s) {
    for (int i = 0; i < count; ++i, ++now) {
      const InquiryOrder asked = std::exchange(order, inquiry.order());
      if (asked.wants_reports) inquiry.take(now, reports(asked.since), 0);
      for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        if (order.healthy_before > 0) ranks[rank].was_healthy(order.healthy_from, order.healthy_before);
        ranks[rank].add(now, {.compute_s = rank == 2 ? slowest_s : others_s});
      }
      const double seconds = (0.02 + slowest_s) * (1 + 0.002 * static_cast<double>(now * now % 7 - 3));
      inquiry.add(now, 0, seconds, tracker.add(now, seconds), tracker.is_healthy());
      for (InquiryEvent& event : inquiry.take_events()) events.push_back(std::move(event));
    }
  }
  std::vector<RankReport> reports(std::int64_t since) const {
    std::vector<RankReport> reports;
    for (const FigureHistory& rank : ranks) reports.push_back(rank.report(since));
    return reports;
  }

  std::vector<FigureHistory> ranks{4};
  IterationTracker tracker{make_run_length_detector({}), {}};
  Inquiry inquiry{parallel::ProcessGrid({.data = 4}),
                  Inquiry::Options{.validation_s = [](const Suspects&) { return 0.0; }}};
  InquiryOrder order;
  std::vector<InquiryEvent> events;
  double others_s = 0.08;
  std::int64_t now = 0;
};

TEST_F(Ladder, has_the_rank_that_climbs_it_for_its_cause) {
  steps(100, 0.08);
  EXPECT_GT(reports(now)[2].healthy.compute_s, 0) << "what is healthy is kept before anything is slow";
  for (const double slowest_s : {0.084, 0.088, 0.092}) steps(100, slowest_s);
  ASSERT_EQ(events.size(), 1U);
  const auto& found = std::get<FailSlow>(events[0]);
  EXPECT_EQ(found.cause, SlowCause::compute);
  ASSERT_EQ(found.components.size(), 1U);
  EXPECT_EQ(found.components[0].rank, 2);
  EXPECT_NEAR(found.components[0].factor, 1.15, 0.01);
  steps(20, 0.08);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<Healed>(events[1]));
}

TEST_F(Ladder, that_begins_after_a_slowdown_of_all_has_the_rank_that_climbs_it_for_its_cause) {
  steps(100, others_s);
  others_s = 0.1;
  steps(100, others_s);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(std::get<FailSlow>(events[0]).cause, SlowCause::common);
  for (const double slowest_s : {0.105, 0.11, 0.115}) steps(100, slowest_s);
  ASSERT_EQ(events.size(), 2U);
  const auto& found = std::get<FailSlow>(events[1]);
  ASSERT_EQ(found.components.size(), 1U);
  EXPECT_EQ(found.components[0].rank, 2);
  EXPECT_NEAR(found.components[0].factor, 1.15, 0.01);
  EXPECT_NEAR(found.healthy_iteration_s, 0.12, 0.001);
}

TEST_F(Ladder, of_which_no_rung_is_kept_as_healthy) {
  steps(100, 0.08);
  steps(300, 0.084);
  EXPECT_EQ(reports(now)[2].healthy.compute_s, 0.08);
}

}  // namespace
}  // namespace tenax::resilience
