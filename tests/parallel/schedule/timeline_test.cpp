#include "parallel/schedule/timeline.hpp"

#include <gtest/gtest.h>

#include <random>

#include "parallel/planner/baselines.hpp"
#include "parallel/policies/schedule_policy.hpp"
#include "parallel/schedule/gantt.hpp"
#include "tests/parallel/expect_error.hpp"
#include "tests/parallel/random_pipelines.hpp"

namespace tenax::parallel {
namespace {

constexpr double kTolerance_s = 1e-9;

TEST(Simulate, times_a_small_pipeline_as_by_hand) {
  PipelineCosts costs{{{1, 2, 3}, {4, 5, 6}}, {0.5}};
  const PipelineSchedule schedule{
      {{{Pass::forward, 0}, {Pass::backward_input, 0}, {Pass::backward_weight, 0}},
       {{Pass::forward, 0}, {Pass::backward, 0}}}};
  const Timeline timeline = simulate(schedule, costs);
  const auto& above = timeline.ops_of_stage[0];
  const auto& below = timeline.ops_of_stage[1];
  EXPECT_EQ(below[0].start_s, 1.5);   // end of F above + delay
  EXPECT_EQ(below[1].end_s, 16.5);    // 5.5 + 5 + 6: the fused backward takes both
  EXPECT_EQ(above[1].start_s, 17.0);  // its end + delay
  EXPECT_EQ(above[2].start_s, 19.0);
  EXPECT_EQ(timeline.makespan_s, 22.0);
  EXPECT_EQ(timeline.bubble_rate[0], 1 - 6.0 / 22.0);
  EXPECT_EQ(timeline.bubble_rate[1], 0.0);
  EXPECT_EQ(idle_before_s(above), (std::vector<double>{0, 16, 0}));
  EXPECT_EQ(idle_before_s(below), (std::vector<double>{1.5, 0}));
}

TEST(Simulate, agrees_with_known_makespans_of_uniform_pipelines) {
  // GPipe and 1F1B: (N + S − 1) · (F + B + W).
  for (const int stages : {1, 2, 4, 8})
    for (const int microbatches : {8, 16}) {
      const auto costs = PipelineCosts::uniform(stages, {0.01, 0.01, 0.01});
      for (const PipelineSchedule& schedule :
           {plan_gpipe(stages, microbatches), plan_one_f_one_b(stages, microbatches)})
        EXPECT_NEAR(simulate(schedule, costs).makespan_s, (microbatches + stages - 1) * 0.03, kTolerance_s);
    }
}

/// Relaxes start times until nothing changes: no order of evaluation, no bookkeeping.
std::vector<std::vector<OpTime>> relax(const PipelineSchedule& schedule, const PipelineCosts& costs) {
  std::vector<std::vector<OpTime>> times;
  for (const auto& ops : schedule.ops_of_stage) times.emplace_back(ops.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (int s = 0; s < schedule.stages(); ++s) {
      const auto stage = static_cast<std::size_t>(s);
      const auto& ops = schedule.ops_of_stage[stage];
      for (std::size_t i = 0; i < ops.size(); ++i) {
        double start_s = i == 0 ? 0 : times[stage][i - 1].end_s;
        const int source = ops[i].pass == Pass::forward           ? s - 1
                           : ops[i].pass == Pass::backward_weight ? -1
                                                                  : s + 1;
        if (source >= 0 && source < schedule.stages()) {
          const auto& inputs = schedule.ops_of_stage[static_cast<std::size_t>(source)];
          for (std::size_t j = 0; j < inputs.size(); ++j)
            if (inputs[j].microbatch == ops[i].microbatch && inputs[j].pass != Pass::backward_weight &&
                (inputs[j].pass == Pass::forward) == (ops[i].pass == Pass::forward))
              start_s = std::max(start_s, times[static_cast<std::size_t>(source)][j].end_s +
                                              costs.delay_s(std::min(s, source)));
        }
        const double end_s = start_s + costs.stages[stage].of(ops[i].pass);
        changed |= end_s != times[stage][i].end_s;
        times[stage][i] = {start_s, end_s};
      }
    }
  }
  return times;
}

TEST(Simulate, equals_plain_relaxation_on_random_pipelines) {
  std::mt19937 random(21);
  for (int round = 0; round < 60; ++round) {
    const RandomPipeline pipeline = random_pipeline(random, 5, 9);
    for (const char* name : {"gpipe", "1f1b", "zero_bubble"}) {
      const PipelineSchedule schedule =
          plan_schedule(policy_of_name(name), pipeline.microbatches, pipeline.costs);
      const Timeline timeline = simulate(schedule, pipeline.costs);
      const auto expected = relax(schedule, pipeline.costs);
      double makespan_s = 0;
      for (std::size_t stage = 0; stage < expected.size(); ++stage)
        for (std::size_t i = 0; i < expected[stage].size(); ++i) {
          EXPECT_EQ(timeline.ops_of_stage[stage][i].start_s, expected[stage][i].start_s);
          EXPECT_EQ(timeline.ops_of_stage[stage][i].end_s, expected[stage][i].end_s);
          makespan_s = std::max(makespan_s, expected[stage][i].end_s);
        }
      EXPECT_EQ(timeline.makespan_s, makespan_s);
    }
  }
}

TEST(Simulate, reports_a_deadlock_instead_of_a_time) {
  const PipelineSchedule schedule{
      {{{Pass::forward, 0}, {Pass::backward, 0}}, {{Pass::backward, 0}, {Pass::forward, 0}}}};
  expect_error(kernels::Scope::operation, {"deadlock", "stage 1 at BW0 waits for its own F0"}, [&] {
    simulate(schedule, PipelineCosts::uniform(2, {1, 1, 1}));
  });
}

TEST(Simulate, reports_a_w_before_its_b_as_a_deadlock) {
  const PipelineSchedule schedule{
      {{{Pass::forward, 0}, {Pass::backward_weight, 0}, {Pass::backward_input, 0}}}};
  expect_error(kernels::Scope::operation, {"deadlock", "stage 0 at W0 waits for its own B0"}, [&] {
    simulate(schedule, PipelineCosts::uniform(1, {1, 1, 1}));
  });
}

// Sums of these times round to more than the span: 1 − busy / span is −2e-16 on some stages.
TEST(Simulate, never_gives_a_negative_bubble_rate_to_a_stage_that_never_idles) {
  const double each_s = 1e-3 / 7;
  const auto costs = PipelineCosts::uniform(4, {each_s, each_s, each_s});
  for (const double bubble : simulate(plan_zero_bubble(8, costs), costs).bubble_rate) {
    EXPECT_GE(bubble, 0);
    EXPECT_LT(bubble, 1e-12);
  }
}

TEST(DrawGantt, draws_each_stage_to_scale_within_the_width) {
  const auto costs = PipelineCosts::uniform(2, {1, 1, 1});
  const PipelineSchedule schedule = plan_one_f_one_b(2, 2);
  const std::string chart = draw_gantt(schedule, simulate(schedule, costs), 36);
  EXPECT_EQ(chart,
            "stage 0 |F0--F1--........BW0-----....BW1-----|\n"
            "stage 1 |....F0--BW0-----F1--BW1-----........|\n");
}

TEST(DrawGantt, falls_back_to_letters_where_labels_do_not_fit) {
  const auto costs = PipelineCosts::uniform(2, {1, 1, 1});
  const PipelineSchedule schedule = plan_one_f_one_b(2, 2);
  EXPECT_EQ(draw_gantt(schedule, simulate(schedule, costs), 9),
            "stage 0 |FF..B-.B-|\n"
            "stage 1 |.FB-FB-..|\n");
}

}  // namespace
}  // namespace tenax::parallel
