#include "parallel/planner/list_scheduler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "parallel/schedule/timeline.hpp"

namespace tenax::parallel {
namespace {

std::string order_of(const std::vector<PipelineOp>& ops) {
  std::string order;
  for (const PipelineOp& op : ops) order += code_of(op.pass);
  return order;
}

TEST(GenerateSchedule, alternates_b_and_f_strictly_after_the_warm_up_and_fills_waiting_with_w) {
  const auto costs = PipelineCosts::uniform(2, {1, 1, 1});
  const PipelineSchedule schedule = generate_schedule(5, costs, {.warmup = {3, 1}, .limit = {}});
  EXPECT_EQ(order_of(schedule.ops_of_stage[0]), "FFFBFBFBWBWBWWW");
  EXPECT_EQ(order_of(schedule.ops_of_stage[1]), "FBFBFBFBFBWWWWW");
}

TEST(GenerateSchedule, runs_w_before_a_forward_that_the_limit_does_not_admit) {
  const auto costs = PipelineCosts::uniform(2, {1, 1, 1});
  const ActivationLimit limit{.microbatches_of_stage = {3, 1}};
  const PipelineSchedule schedule = generate_schedule(3, costs, {.warmup = {3, 1}, .limit = limit});
  EXPECT_EQ(order_of(schedule.ops_of_stage[1]), "FBWFBWFBW");
}

TEST(GenerateSchedule, plans_for_the_link_delays_it_is_given) {
  PipelineCosts costs = PipelineCosts::uniform(4, {0.01, 0.01, 0.01});
  const GeneratorOptions options{.warmup = {7, 5, 3, 1}, .limit = {}};
  const PipelineSchedule planned_healthy = generate_schedule(12, costs, options);
  costs.link_delay_s = {0.02, 0, 0};
  const PipelineSchedule planned_slow = generate_schedule(12, costs, options);
  EXPECT_LT(simulate(planned_slow, costs).makespan_s, simulate(planned_healthy, costs).makespan_s);
}

PipelineSchedule with_w_deferred(PipelineSchedule schedule) {
  for (auto& ops : schedule.ops_of_stage)
    std::stable_partition(ops.begin(), ops.end(),
                          [](const PipelineOp& op) { return op.pass != Pass::backward_weight; });
  return schedule;
}

// Theorem 1 of the PipeMorph paper with its constant (issue 3): strict alternation, W deferred, the slow link
// last, slackness D on it: 2·min(c, (D − 1)t) + 2·max(0, c − (D − 1)t)·⌈N / (D + 1)⌉.
TEST(GenerateSchedule, gives_orders_that_grow_with_a_delay_exactly_as_theorem_1_says) {
  const int microbatches = 30, t_ms = 10;
  for (int slackness = 1; slackness <= 6; ++slackness) {
    PipelineCosts costs = PipelineCosts::uniform(4, {0.01, 0.01, 0.01});
    const std::vector<int> warmup{1 + slackness + 4, 1 + slackness + 2, 1 + slackness, 1};
    const PipelineSchedule schedule =
        with_w_deferred(generate_schedule(microbatches, costs, {.warmup = warmup, .limit = {}}));
    const double healthy_s = simulate(schedule, costs).makespan_s;
    for (int delay_ms = 0; delay_ms <= 60; ++delay_ms) {
      costs.link_delay_s = {0, 0, delay_ms * 1e-3};
      const int slack_ms = (slackness - 1) * t_ms;
      const double growth_ms =
          2 * std::min(delay_ms, slack_ms) +
          2 * std::max(0, delay_ms - slack_ms) * std::ceil(microbatches / static_cast<double>(slackness + 1));
      EXPECT_NEAR((simulate(schedule, costs).makespan_s - healthy_s) * 1e3, growth_ms, 1e-6)
          << "slackness " << slackness << ", delay " << delay_ms << " ms";
    }
  }
}

}  // namespace
}  // namespace tenax::parallel
