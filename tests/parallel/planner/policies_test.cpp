#include "parallel/planner/baselines.hpp"
#include "parallel/policies/schedule_policy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "parallel/schedule/timeline.hpp"
#include "tests/parallel/expect_error.hpp"
#include "tests/parallel/random_pipelines.hpp"

namespace tenax::parallel {
namespace {

std::string to_text(const std::vector<PipelineOp>& ops) {
  std::string text;
  for (const PipelineOp& op : ops) text += (text.empty() ? "" : " ") + to_string(op);
  return text;
}

ActivationLimit limit_of(int stages, int microbatches) {
  return {.microbatches_of_stage = std::vector(static_cast<std::size_t>(stages), microbatches)};
}

PipelineCosts ten_ms(int stages) { return PipelineCosts::uniform(stages, {0.01, 0.01, 0.01}); }

TEST(Gpipe, runs_all_forwards_then_all_backwards) {
  const PipelineSchedule schedule = plan_gpipe(2, 3);
  for (const auto& ops : schedule.ops_of_stage) EXPECT_EQ(to_text(ops), "F0 F1 F2 BW0 BW1 BW2");
}

TEST(OneFOneB, alternates_after_its_warm_up) {
  const PipelineSchedule schedule = plan_one_f_one_b(3, 4);
  EXPECT_EQ(to_text(schedule.ops_of_stage[0]), "F0 F1 F2 BW0 F3 BW1 BW2 BW3");
  EXPECT_EQ(to_text(schedule.ops_of_stage[1]), "F0 F1 BW0 F2 BW1 F3 BW2 BW3");
  EXPECT_EQ(to_text(schedule.ops_of_stage[2]), "F0 BW0 F1 BW1 F2 BW2 F3 BW3");
}

TEST(OneFOneB, holds_at_most_stages_minus_rank_microbatches) {
  for (const int microbatches : {1, 3, 20})
    for (int stage = 0; stage < 5; ++stage)
      EXPECT_EQ(peak_slots(plan_one_f_one_b(5, microbatches), stage), std::min(5 - stage, microbatches));
}

TEST(InitialWarmup, is_algorithm_1) {
  EXPECT_EQ(initial_warmup(4, 12), (std::vector<int>{7, 5, 3, 1}));
  EXPECT_EQ(initial_warmup(4, 6), (std::vector<int>{6, 4, 2, 1}));
  EXPECT_EQ(initial_warmup(4, 12, limit_of(4, 5)), (std::vector<int>{5, 3, 2, 1}));
  EXPECT_EQ(initial_warmup(1, 12), (std::vector<int>{1}));
}

TEST(InitialWarmup, keeps_the_pipeline_filled_when_few_microbatches_may_be_live) {
  EXPECT_EQ(initial_warmup(4, 2), (std::vector<int>{2, 2, 2, 1}));
  EXPECT_EQ(initial_warmup(4, 12, limit_of(4, 3)), (std::vector<int>{3, 3, 2, 1}));
  EXPECT_EQ(initial_warmup(4, 12, {.microbatches_of_stage = {7, 2, 9, 9}}), (std::vector<int>{7, 2, 2, 1}));
}

// Figures 4 and 5 of the PipeMorph paper.
TEST(ZeroBubble, reproduces_the_papers_delays_of_its_fixed_order) {
  PipelineCosts costs = ten_ms(4);
  const PipelineSchedule schedule = plan_schedule(policy_of_name("zero_bubble"), 12, costs);
  const auto makespan_ms = [&](double delay_ms) {
    costs.link_delay_s = {delay_ms * 1e-3, 0, 0};
    return simulate(schedule, costs).makespan_s * 1e3;
  };
  EXPECT_NEAR(makespan_ms(0), 390, 1e-6);
  EXPECT_NEAR(makespan_ms(10), 400, 1e-6);
  EXPECT_NEAR(makespan_ms(20), 440, 1e-6);
}

TEST(ZeroBubble, runs_f_b_w_of_one_microbatch_after_the_other_on_a_single_stage) {
  const PipelineSchedule schedule = plan_schedule(policy_of_name("zero_bubble"), 3, ten_ms(1));
  EXPECT_EQ(to_text(schedule.ops_of_stage[0]), "F0 B0 W0 F1 B1 W1 F2 B2 W2");
  EXPECT_EQ(peak_slots(schedule, 0), 1);
}

TEST(ZeroBubble, does_not_depend_on_the_link_delays_it_is_planned_with) {
  PipelineCosts costs = ten_ms(4);
  const PipelineSchedule schedule = plan_schedule(policy_of_name("zero_bubble"), 12, costs);
  costs.link_delay_s = {0.03, 0.01, 0.02};
  EXPECT_EQ(plan_schedule(policy_of_name("zero_bubble"), 12, costs), schedule);
}

TEST(ZeroBubble, breaks_ties_alike_for_costs_that_no_float_holds_exactly) {
  // 9.44 ms sums to unequal doubles along different paths; the order must be that of 10 ms.
  EXPECT_EQ(plan_zero_bubble(12, PipelineCosts::uniform(4, {0.00944, 0.00944, 0.00944})),
            plan_zero_bubble(12, ten_ms(4)));
}

TEST(EveryPolicy, is_valid_and_finishes_on_random_pipelines) {
  std::mt19937 random(31);
  for (int round = 0; round < 300; ++round) {
    const RandomPipeline pipeline = random_pipeline(random, 8, 24);
    for (const char* name : {"gpipe", "1f1b", "zero_bubble", "adaptive"}) {
      const PipelineSchedule schedule =
          plan_schedule(policy_of_name(name), pipeline.microbatches, pipeline.costs);
      validate(schedule, pipeline.microbatches);
      EXPECT_GT(simulate(schedule, pipeline.costs).makespan_s, 0);
    }
  }
}

TEST(ZeroBubble, stays_within_any_limit_of_at_least_one) {
  std::mt19937 random(32);
  for (int round = 0; round < 300; ++round) {
    const RandomPipeline pipeline = random_pipeline(random, 8, 24);
    ActivationLimit limit{.microbatches_of_stage = {}, .weight_share = (random() % 3) / 2.0};
    for (int stage = 0; stage < pipeline.costs.stage_count(); ++stage)
      limit.microbatches_of_stage.push_back(1 + static_cast<int>(random() % 6));
    const PipelineSchedule schedule =
        plan_schedule(policy_of_name("zero_bubble"), pipeline.microbatches, pipeline.costs, limit);
    for (int stage = 0; stage < schedule.stages(); ++stage)
      EXPECT_LE(peak_activations(schedule, stage, limit.weight_share), limit.microbatches(stage));
  }
}

TEST(ZeroBubble, holds_its_warm_up_and_no_more_between_f_and_b) {
  std::mt19937 random(33);
  for (int round = 0; round < 100; ++round) {
    const RandomPipeline pipeline = random_pipeline(random, 8, 24);
    const std::vector<int> warmup = initial_warmup(pipeline.costs.stage_count(), pipeline.microbatches);
    const PipelineSchedule schedule = plan_zero_bubble(pipeline.microbatches, pipeline.costs);
    for (int stage = 0; stage < schedule.stages(); ++stage)
      EXPECT_EQ(peak_activations(schedule, stage, 0), warmup[static_cast<std::size_t>(stage)]);
  }
}

TEST(ZeroBubble, is_never_slower_than_1f1b_without_delays_in_the_same_memory) {
  std::mt19937 random(34);
  for (int round = 0; round < 500; ++round) {
    RandomPipeline pipeline = random_pipeline(random, 8, 24);
    pipeline.costs.link_delay_s.clear();
    const PipelineSchedule baseline = plan_one_f_one_b(pipeline.costs.stage_count(), pipeline.microbatches);
    ActivationLimit limit;
    for (int stage = 0; stage < baseline.stages(); ++stage)
      limit.microbatches_of_stage.push_back(peak_slots(baseline, stage));
    const PipelineSchedule split = plan_zero_bubble(pipeline.microbatches, pipeline.costs, limit);
    EXPECT_LE(simulate(split, pipeline.costs).makespan_s,
              simulate(baseline, pipeline.costs).makespan_s * (1 + 1e-9));
  }
}

TEST(ZeroBubble, has_no_bubble_in_a_uniform_pipeline_without_limit) {
  for (const int stages : {2, 4, 8})
    for (const int microbatches : {2 * stages - 1, 4 * stages}) {
      const Timeline timeline = simulate(plan_zero_bubble(microbatches, ten_ms(stages)), ten_ms(stages));
      for (const double bubble : timeline.bubble_rate) EXPECT_NEAR(bubble, 0, 1e-9);
      EXPECT_NEAR(timeline.makespan_s, (3 * microbatches + stages - 1) * 0.01, 1e-9);
    }
}

TEST(PlanSchedule, refuses_a_policy_that_breaks_the_limit) {
  expect_error(kernels::Scope::usage, {"\"gpipe\" holds 12", "stage 0", "limit of 4"},
               [] { plan_schedule(policy_of_name("gpipe"), 12, ten_ms(4), limit_of(4, 4)); });
  expect_error(kernels::Scope::usage, {"\"1f1b\" holds 4", "stage 0", "limit of 3"},
               [] { plan_schedule(policy_of_name("1f1b"), 12, ten_ms(4), limit_of(4, 3)); });
}

TEST(PolicyOfName, refuses_unknown_names) {
  expect_error(kernels::Scope::usage, {"\"zb\"", "zero_bubble"}, [] { policy_of_name("zb"); });
}

}  // namespace
}  // namespace tenax::parallel
