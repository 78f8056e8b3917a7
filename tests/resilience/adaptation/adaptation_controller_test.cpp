#include "resilience/adaptation/adaptation_controller.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/error.hpp"
#include "parallel/planner/baselines.hpp"
#include "tests/resilience/adaptation/emulated_pipeline.hpp"

namespace tenax::resilience {
namespace {

using parallel::PipelineCosts;

parallel::ActivationLimit limit_of(int stages, int microbatches) {
  return {.microbatches_of_stage = std::vector(static_cast<std::size_t>(stages), microbatches)};
}

TEST(AdaptationController, leaves_a_healthy_pipeline_alone) {
  for (const int stages : {2, 4, 8}) {
    EmulatedPipeline pipeline(3 * stages, ten_ms(stages));
    pipeline.run(100);
    EXPECT_TRUE(pipeline.events.empty()) << stages << " stages: " << name_of(pipeline.events.front().kind);
    EXPECT_EQ(pipeline.reschedules, 0);
    EXPECT_LE(pipeline.plans, 3);
  }
}

TEST(AdaptationController, answers_a_slow_link_at_the_next_boundary_and_goes_back_when_it_heals) {
  for (const int link : {1, 2}) {
    EmulatedPipeline pipeline(12, ten_ms(4));
    const parallel::PipelineSchedule initial = pipeline.controller.running();
    pipeline.run(5);
    pipeline.truth.link_delay_s[static_cast<std::size_t>(link)] = 0.030;
    pipeline.run(3);
    EXPECT_EQ(pipeline.count(AdaptationKind::straggler, link), 1);
    EXPECT_EQ(pipeline.count(AdaptationKind::delegate, link), 1);
    EXPECT_EQ(pipeline.count(AdaptationKind::reschedule), 1);
    for (const AdaptationEvent& event : pipeline.events) {
      EXPECT_EQ(event.step, 5);
      EXPECT_NEAR(event.delay_s, 0.030, 0.001);
    }
    // The figure for the adapted plan, of which 1 % is the controller's tolerance.
    EXPECT_LE(pipeline.true_s(pipeline.controller.running()), 0.420 * 1.01);
    for (const LinkPath& path : pipeline.paths())
      EXPECT_EQ(path.delegated, &path == &pipeline.paths()[static_cast<std::size_t>(link)]);
    pipeline.truth.link_delay_s.assign(3, 0.0);
    pipeline.run(4);
    EXPECT_EQ(pipeline.count(AdaptationKind::direct, link), 1);
    EXPECT_EQ(pipeline.controller.running(), initial);
    EXPECT_EQ(pipeline.count(AdaptationKind::straggler), 1);
    EXPECT_EQ(pipeline.reschedules, 2);
    pipeline.run(50);
    EXPECT_EQ(pipeline.reschedules, 2);
    EXPECT_EQ(pipeline.events.size(), 5U);
  }
}

TEST(AdaptationController, keeps_a_schedule_whose_slackness_absorbs_the_delay) {
  EmulatedPipeline pipeline(12, ten_ms(4));
  pipeline.run(5);
  pipeline.truth.link_delay_s[0] = 0.030;
  pipeline.run(5);
  EXPECT_EQ(pipeline.count(AdaptationKind::delegate, 0), 1);
  EXPECT_EQ(pipeline.reschedules, 0);
  EXPECT_LE(pipeline.true_s(pipeline.controller.running()), 0.420 * 1.01);
}

TEST(AdaptationController, asks_again_for_a_plan_that_nobody_could_look_for) {
  EmulatedPipeline pipeline(12, ten_ms(4));
  pipeline.run(5);
  pipeline.truth.link_delay_s[1] = 0.030;
  pipeline.has_threads = false;
  pipeline.run(3);
  EXPECT_EQ(pipeline.reschedules, 0);
  EXPECT_TRUE(pipeline.controller.wants_plan());
  pipeline.has_threads = true;
  pipeline.run(3);
  EXPECT_EQ(pipeline.reschedules, 1);
  EXPECT_LE(pipeline.true_s(pipeline.controller.running()), 0.420 * 1.01);
}

TEST(AdaptationController, tells_measured_pass_times_once_where_the_schedule_stays) {
  EmulatedPipeline pipeline(12, ten_ms(4));
  for (parallel::StageCosts& stage : pipeline.truth.stages) stage = {0.020, 0.020, 0.020};
  pipeline.run(30);
  EXPECT_EQ(pipeline.reschedules, 0);
  EXPECT_EQ(pipeline.renewals, 1);
  for (const parallel::StageCosts& stage : pipeline.told.stages) EXPECT_NEAR(stage.forward_s, 0.020, 0.001);
  pipeline.controller.set_microbatches(8, parallel::plan_initial(8, pipeline.truth, {}));
  pipeline.run(30);
  EXPECT_EQ(pipeline.renewals, 1);
}

TEST(AdaptationController, plans_idle_time_for_a_delay_that_lasts_and_not_for_one_that_has_just_begun) {
  EmulatedPipeline pipeline(12, ten_ms(4));
  pipeline.run(10);
  ASSERT_EQ(pipeline.renewals, 1);
  pipeline.truth.link_delay_s[0] = 0.030;
  pipeline.run(2);
  EXPECT_EQ(pipeline.renewals, 1);
  EXPECT_NEAR(pipeline.told.delay_s(0), 0, 0.001);
  pipeline.run(20);
  EXPECT_EQ(pipeline.reschedules, 0);
  EXPECT_EQ(pipeline.renewals, 2);
  EXPECT_NEAR(pipeline.told.delay_s(0), 0.030, 0.001);
  pipeline.truth.link_delay_s[0] = 0;
  pipeline.run(20);
  EXPECT_EQ(pipeline.renewals, 3);
  EXPECT_NEAR(pipeline.told.delay_s(0), 0, 0.001);
}

TEST(AdaptationController, plans_no_idle_time_for_a_delay_that_comes_and_goes) {
  EmulatedPipeline pipeline(12, ten_ms(4));
  pipeline.run(10);
  for (int i = 0; i < 50; ++i) {
    pipeline.truth.link_delay_s[0] = i % 2 == 0 ? 0.030 : 0.0;
    pipeline.run(1);
  }
  EXPECT_EQ(pipeline.reschedules, 0);
  EXPECT_EQ(pipeline.renewals, 1);
}

TEST(AdaptationController, takes_a_plan_that_comes_an_iteration_late) {
  EmulatedPipeline pipeline(12, ten_ms(4));
  pipeline.run(5);
  pipeline.truth.link_delay_s[2] = 0.030;
  for (int i = 0; i < 2; ++i) pipeline.step(true);
  EXPECT_EQ(pipeline.count(AdaptationKind::delegate, 2), 1);
  EXPECT_EQ(pipeline.count(AdaptationKind::reschedule), 1);
  EXPECT_EQ(pipeline.events.back().step, 6);
  EXPECT_LE(pipeline.true_s(pipeline.controller.running()), 0.420 * 1.01);
}

TEST(AdaptationController, tells_what_it_expects_and_what_came_of_it) {
  EmulatedPipeline pipeline(12, ten_ms(4));
  pipeline.run(5);
  pipeline.truth.link_delay_s[0] = 0.060;
  pipeline.run(1);
  ASSERT_FALSE(pipeline.events.empty());
  EXPECT_TRUE(pipeline.achieved.empty());
  pipeline.run(1);
  ASSERT_EQ(pipeline.achieved.size(), pipeline.events.size());
  for (const AdaptationEvent& event : pipeline.achieved) {
    EXPECT_NEAR(event.predicted_s, pipeline.true_s(pipeline.controller.running()), 0.02 * event.predicted_s);
    EXPECT_EQ(event.achieved_s, pipeline.iteration_s.back());
    EXPECT_EQ(event.before_s, pipeline.iteration_s[5]);
  }
}

TEST(AdaptationController, does_not_chase_a_delay_that_flaps_every_iteration) {
  EmulatedPipeline pipeline(12, ten_ms(4));
  pipeline.run(5);
  for (int i = 0; i < 50; ++i) {
    pipeline.truth.link_delay_s[1] = i % 2 == 0 ? 0.030 : 0.0;
    pipeline.run(1);
  }
  EXPECT_LE(pipeline.reschedules, 4);
  EXPECT_GE(pipeline.reschedules, 1);
  EXPECT_LE(pipeline.plans, 6);
  EXPECT_LE(pipeline.count(AdaptationKind::delegate) + pipeline.count(AdaptationKind::direct), 3);
  EXPECT_TRUE(pipeline.paths()[1].delegated);
}

TEST(AdaptationController, answers_several_slow_links) {
  EmulatedPipeline pipeline(12, ten_ms(4));
  pipeline.run(3);
  pipeline.truth.link_delay_s = {0.060, 0.060, 0.060};
  pipeline.run(3);
  for (const int link : {0, 1, 2}) {
    EXPECT_EQ(pipeline.count(AdaptationKind::straggler, link), 1);
    EXPECT_TRUE(pipeline.paths()[static_cast<std::size_t>(link)].delegated);
  }
  EXPECT_LE(pipeline.true_s(pipeline.controller.running()), 0.670 * 1.01);
}

TEST(AdaptationController, reports_a_slow_link_again_when_it_has_become_much_slower) {
  EmulatedPipeline pipeline(12, ten_ms(4));
  pipeline.run(3);
  for (const double delay_s : {0.012, 0.015, 0.040}) {
    pipeline.truth.link_delay_s[1] = delay_s;
    pipeline.run(3);
  }
  ASSERT_EQ(pipeline.count(AdaptationKind::straggler, 1), 2);
  EXPECT_EQ(pipeline.count(AdaptationKind::delegate, 1), 1);
  const auto last =
      std::find_if(pipeline.events.rbegin(), pipeline.events.rend(),
                   [](const AdaptationEvent& event) { return event.kind == AdaptationKind::straggler; });
  EXPECT_GE(last->step, 9);
  EXPECT_LE(last->step, 10);  // the third change in nine iterations: the link counts as restless
  EXPECT_NEAR(last->delay_s, 0.040, 0.001);
}

TEST(AdaptationController, stays_within_the_memory_limit) {
  const auto limit = limit_of(4, 5);
  EmulatedPipeline pipeline(12, ten_ms(4), limit);
  pipeline.run(3);
  pipeline.truth.link_delay_s[1] = 0.030;
  pipeline.run(5);
  EXPECT_EQ(pipeline.count(AdaptationKind::straggler, 1), 1);
  EXPECT_NO_THROW(parallel::validate(pipeline.controller.running(), 12, limit));
  pipeline.run(30);
  EXPECT_LE(pipeline.plans, 4);
}

TEST(AdaptationController, replans_for_a_stage_that_became_slow_and_goes_back) {
  EmulatedPipeline pipeline(12, ten_ms(4));
  const parallel::PipelineSchedule initial = pipeline.controller.running();
  pipeline.run(3);
  pipeline.truth.stages[2] = {0.020, 0.020, 0.020};
  pipeline.run(15);
  ASSERT_EQ(pipeline.count(AdaptationKind::straggler), 1);
  const auto slow = std::find_if(pipeline.events.begin(), pipeline.events.end(),
                                 [](const auto& event) { return event.kind == AdaptationKind::straggler; });
  EXPECT_EQ(slow->stage, 2);
  EXPECT_NEAR(slow->delay_s, 0.030, 0.002);
  const double bound_s = parallel::makespan_lower_bound_s(12, pipeline.truth, {});
  EXPECT_LE(pipeline.true_s(pipeline.controller.running()), bound_s * 1.02);
  pipeline.truth.stages[2] = {0.010, 0.010, 0.010};
  pipeline.run(15);
  EXPECT_EQ(pipeline.controller.running(), initial);
  EXPECT_EQ(pipeline.count(AdaptationKind::straggler), 1);
}

TEST(AdaptationController, ignores_a_machine_that_is_slow_as_a_whole) {
  EmulatedPipeline pipeline(12, ten_ms(4));
  pipeline.run(3);
  for (parallel::StageCosts& stage : pipeline.truth.stages) stage = {0.015, 0.015, 0.015};
  pipeline.run(10);
  EXPECT_TRUE(pipeline.events.empty());
}

// Ranks that share cores: iterations take twice what passes and messages make them, and messages wait for a core.
TEST(AdaptationController, does_not_act_on_gains_below_what_the_evaluator_cannot_explain) {
  EmulatedPipeline pipeline(12, ten_ms(4));
  pipeline.unexplained_s = 0.3;
  pipeline.delay_noise_s = 0.008;
  pipeline.pass_jitter = 0.3;
  pipeline.run(50);
  EXPECT_TRUE(pipeline.events.empty()) << pipeline.events.size();
  pipeline.truth.link_delay_s[2] = 0.060;
  pipeline.run(3);
  EXPECT_EQ(pipeline.count(AdaptationKind::delegate, 2), 1);
}

TEST(AdaptationController, keeps_the_schedule_where_rescheduling_is_off) {
  AdaptationSettings settings = EmulatedPipeline::deterministic();
  settings.reschedule = false;
  EmulatedPipeline pipeline(12, ten_ms(4), {}, settings);
  pipeline.run(3);
  pipeline.truth.link_delay_s[2] = 0.030;
  pipeline.run(5);
  EXPECT_EQ(pipeline.count(AdaptationKind::delegate, 2), 1);
  EXPECT_EQ(pipeline.plans, 0);
  EXPECT_EQ(pipeline.reschedules, 0);
}

// Whoever runs the pipeline may have run the link on another path than it was told.
TEST(AdaptationController, does_not_believe_one_iteration_in_which_messages_disagree) {
  const AdaptationSettings settings = EmulatedPipeline::deterministic();
  AdaptationController controller(12, {}, parallel::plan_initial(12, ten_ms(4), {}), settings);
  const LinkMeasurement quick{.delay_s = 1e-4, .samples = 12};
  const StageMeasurement stage{.passes = {0.01, 0.01, 0.01}, .activations = quick, .gradients = quick};
  PipelineMeasurement measured{.stages = std::vector(4, stage), .iteration_s = 0};
  PipelineCosts costs = ten_ms(4);
  const std::vector<LinkCondition> conditions(3);
  const auto events_after = [&](std::int64_t step, double delay_s) {
    measured.stages[2].activations = {.delay_s = delay_s, .spread_s = 0.020, .samples = 12};
    costs.link_delay_s = {1e-4, delay_s, 1e-4};
    measured.iteration_s = predict_s(controller.running(), costs, settings.direct, {0, 0, 0});
    controller.observe(step, measured, conditions);
    return controller.decide().events.size();
  };
  EXPECT_EQ(events_after(0, 1e-4), 0U);
  EXPECT_EQ(events_after(1, 0.018), 0U);
  EXPECT_EQ(events_after(2, 1e-4), 0U);
  EXPECT_EQ(events_after(3, 0.018), 0U);
  EXPECT_GE(events_after(4, 0.018), 1U);
}

TEST(AdaptationController, refuses_a_plan_that_breaks_the_memory_limit) {
  AdaptationController controller(12, limit_of(4, 4),
                                  parallel::plan_zero_bubble(12, ten_ms(4), limit_of(4, 4)),
                                  EmulatedPipeline::deterministic());
  parallel::Plan plan;
  plan.schedule = parallel::plan_gpipe(4, 12);
  EXPECT_THROW(controller.decide(&plan), kernels::Error);
}

}  // namespace
}  // namespace tenax::resilience
