// The search's flat arrays against the plain types that everybody else uses.
#include "parallel/planner/planning_problem.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "kernels/error.hpp"
#include "parallel/planner/order_evaluator.hpp"

#include "parallel/schedule/timeline.hpp"
#include "tests/parallel/random_pipelines.hpp"

namespace tenax::parallel {
namespace {

/// Any words with F before B before W.
PassOrder random_order(std::mt19937& random, const PlanningProblem& problem) {
  PassOrder order(problem.stages(), problem.ops_per_stage());
  for (int stage = 0; stage < problem.stages(); ++stage) {
    int done[3] = {0, 0, 0};
    for (int i = 0; i < problem.ops_per_stage();) {
      const auto letter = static_cast<std::uint8_t>(random() % 3);
      if (done[letter] == (letter == kForward ? problem.microbatches : done[letter - 1])) continue;
      ++done[letter];
      order.word(stage)[i++] = letter;
    }
  }
  return order;
}

TEST(OrderEvaluator, equals_simulate_on_random_orders) {
  std::mt19937 random(71);
  int timed = 0, deadlocked = 0;
  for (int round = 0; round < 400; ++round) {
    const RandomPipeline pipeline = random_pipeline(random, 4, 4);
    const PlanningProblem problem(pipeline.microbatches, pipeline.costs, {});
    OrderEvaluator evaluator(problem);
    const PassOrder order = random_order(random, problem);
    const PipelineSchedule schedule = schedule_of(order, problem.stages());
    EXPECT_EQ(order_of(schedule, problem), order);
    Timeline timeline;
    try {
      timeline = simulate(schedule, pipeline.costs);
    } catch (const kernels::Error&) {
      EXPECT_EQ(evaluator.evaluate(order), kNever);
      ++deadlocked;
      continue;
    }
    ++timed;
    EXPECT_EQ(evaluator.evaluate(order), to_nanoseconds(timeline.makespan_s));
    for (int stage = 0; stage < problem.stages(); ++stage) {
      const auto& times = timeline.ops_of_stage[static_cast<std::size_t>(stage)];
      for (std::size_t i = 0; i < times.size(); ++i)
        EXPECT_EQ(evaluator.starts(stage)[i], to_nanoseconds(times[i].start_s));
    }
  }
  EXPECT_GT(timed, 50);
  EXPECT_GT(deadlocked, 50);
}

TEST(OrderEvaluator, gives_up_what_cannot_end_in_time_and_nothing_else) {
  std::mt19937 random(72);
  for (int round = 0; round < 200; ++round) {
    const RandomPipeline pipeline = random_pipeline(random, 4, 4);
    const PlanningProblem problem(pipeline.microbatches, pipeline.costs, {});
    OrderEvaluator evaluator(problem);
    const PassOrder order = random_order(random, problem);
    const Nanoseconds makespan = evaluator.evaluate(order);
    if (makespan == kNever) continue;  // a deadlock
    EXPECT_EQ(evaluator.evaluate(order, makespan), makespan);
    const Nanoseconds given_up = evaluator.evaluate(order, makespan - 1);
    EXPECT_TRUE(given_up == kNever || given_up == makespan);
  }
}

TEST(IsAdmissible, says_what_validate_says) {
  std::mt19937 random(73);
  int refused = 0;
  for (int round = 0; round < 500; ++round) {
    const RandomPipeline pipeline = random_pipeline(random, 1, 8);
    ActivationLimit limit{{1 + static_cast<int>(random() % 6)}, static_cast<double>(random() % 5) / 4};
    const PlanningProblem problem(pipeline.microbatches, pipeline.costs, limit);
    const PassOrder order = random_order(random, problem);
    bool valid = true;
    try {
      validate(schedule_of(order, 1), pipeline.microbatches, limit);
    } catch (const kernels::Error&) {
      valid = false;
    }
    EXPECT_EQ(is_admissible(problem, 0, order.word(0)), valid);
    refused += !valid;
  }
  EXPECT_GT(refused, 50);
  EXPECT_LT(refused, 450);
}

TEST(OrderOf, splits_fused_backwards_and_renumbers_microbatches) {
  const PlanningProblem problem(2, PipelineCosts::uniform(1, {1, 1, 1}), {});
  const PipelineSchedule schedule{
      {{{Pass::forward, 1}, {Pass::backward, 1}, {Pass::forward, 0}, {Pass::backward, 0}}}};
  const PipelineSchedule split = schedule_of(order_of(schedule, problem), 1);
  std::string text;
  for (const PipelineOp& op : split.ops_of_stage[0]) text += to_string(op) + " ";
  EXPECT_EQ(text, "F0 B0 W0 F1 B1 W1 ");
}

}  // namespace
}  // namespace tenax::parallel
