// What a rank's figures are now, and were when all was well.
#include "resilience/diagnosis/figure_history.hpp"

#include <gtest/gtest.h>

namespace tenax::resilience {
namespace {

void add(FigureHistory& history, std::int64_t begin, std::int64_t end, double compute_s) {
  for (std::int64_t i = begin; i < end; ++i) history.add(i, {.compute_s = compute_s, .data_s = 1});
}

TEST(FigureHistory, tells_medians_since_an_iteration_and_before_one) {
  FigureHistory history;
  add(history, 0, 20, 2);
  history.add(20, {.compute_s = 100});  // a spike, and then the slowdown
  add(history, 21, 25, 3);
  history.was_healthy(0, 20);
  const RankReport report = history.report(20);
  EXPECT_EQ(report.healthy.compute_s, 2);
  EXPECT_EQ(report.now.compute_s, 3);
  EXPECT_EQ(report.now.data_s, 1);
}

TEST(FigureHistory, what_is_healthy_stays_however_long_the_slowdown_lasts) {
  FigureHistory history;
  add(history, 0, 20, 2);
  history.was_healthy(0, 20);
  add(history, 20, 2000, 3);
  EXPECT_EQ(history.report(1990).healthy.compute_s, 2);
  EXPECT_EQ(history.report(1990).now.compute_s, 3);
}

TEST(FigureHistory, the_last_64_iterations_say_what_is_healthy) {
  FigureHistory history;
  add(history, 0, 70, 9);
  add(history, 70, 130, 2);
  history.was_healthy(0, 130);
  EXPECT_EQ(history.report(130).healthy.compute_s, 2);
}

TEST(FigureHistory, takes_nothing_for_healthy_that_was_slow_before_or_is_masked) {
  FigureHistory history;
  add(history, 0, 60, 5);  // slow
  add(history, 60, 80, 2);
  for (std::int64_t i = 80; i < 110; ++i) history.add(i, {.compute_s = 7}, true);
  add(history, 110, 115, 7);
  history.was_healthy(60, 110);
  EXPECT_EQ(history.report(110).healthy.compute_s, 2);
}

TEST(FigureHistory, keeps_what_is_healthy_where_too_few_iterations_say_otherwise) {
  FigureHistory history;
  add(history, 0, 20, 2);
  history.was_healthy(0, 20);
  add(history, 20, 60, 5);
  add(history, 60, 75, 3);
  history.was_healthy(60, 75);
  EXPECT_EQ(history.report(60).healthy.compute_s, 2);
  add(history, 75, 76, 3);
  history.was_healthy(60, 76);
  EXPECT_EQ(history.report(60).healthy.compute_s, 3);
}

TEST(FigureHistory, takes_few_iterations_for_healthy_where_nothing_else_is_known) {
  FigureHistory history;
  add(history, 0, 3, 2);
  history.was_healthy(0, 3);
  EXPECT_EQ(history.report(0).healthy.compute_s, 2);
}

TEST(FigureHistory, keeps_what_belongs_to_the_rank_where_it_gets_other_work) {
  FigureHistory history;
  for (std::int64_t i = 0; i < 20; ++i)
    history.add(i, {.compute_s = 2,
                    .tensor_s = 1,
                    .data_s = 1,
                    .activations_s = 1,
                    .preempted_s = 0.5,
                    .has_reading = 1,
                    .sm_clock_mhz = 1700,
                    .power_cap = 1});
  history.was_healthy(0, 20);
  history.forget_work();
  history.add(20, {.compute_s = 3});
  const RankReport report = history.report(0);
  EXPECT_EQ(report.now.compute_s, 3);
  EXPECT_EQ(report.healthy,
            (RankFigures{.preempted_s = 0.5, .has_reading = 1, .sm_clock_mhz = 1700, .power_cap = 1}));
}

TEST(FigureHistory, nothing_measured_is_zero) {
  FigureHistory history;
  history.was_healthy(0, 5);
  EXPECT_EQ(history.report(0), RankReport{});
  history.add(5, {.compute_s = 1});
  EXPECT_EQ(history.report(6).now.compute_s, 0);
}

TEST(FigureHistory, a_delay_is_a_bound_where_it_was_one_when_it_was_measured) {
  FigureHistory history;
  add(history, 0, 5, 2);
  history.add(5, {.compute_s = 2, .activations_s = 3, .gradients_s = 4, .gradients_at_most = 1});
  const RankFigures now = history.report(0).now;
  EXPECT_EQ(now.activations_s, 3);
  EXPECT_EQ(now.activations_at_most, 0);
  EXPECT_EQ(now.gradients_s, 4);
  EXPECT_EQ(now.gradients_at_most, 1);
}

TEST(FigureHistory, a_device_that_told_nothing_in_an_iteration_does_not_count_there) {
  FigureHistory history;
  add(history, 0, 5, 2);
  for (const double temperature_c : {70, 71, 72})
    history.add(static_cast<std::int64_t>(temperature_c), {.compute_s = 2,
                                                           .has_reading = 1,
                                                           .sm_clock_mhz = 1700,
                                                           .temperature_c = temperature_c,
                                                           .power_cap = 1});
  history.add(80, {.compute_s = 2, .has_reading = 1, .power_cap = 0});
  const RankFigures now = history.report(0).now;
  EXPECT_EQ(now.compute_s, 2);
  EXPECT_EQ(now.has_reading, 1);
  EXPECT_EQ(now.sm_clock_mhz, 1700);
  EXPECT_EQ(now.temperature_c, 71);
  EXPECT_EQ(now.power_cap, 1);
  EXPECT_EQ(now.hardware_thermal, 0);
}

}  // namespace
}  // namespace tenax::resilience
