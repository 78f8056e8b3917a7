// AdaptationController: which links go over delegates, and what is told of it.
#include "resilience/adaptation/adaptation_controller.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/resilience/adaptation/emulated_pipeline.hpp"

namespace tenax::resilience {
namespace {

using parallel::PipelineCosts;

TEST(AdaptationController, heals_one_of_two_links_and_keeps_the_other_delegated) {
  EmulatedPipeline pipeline(12, ten_ms(4));
  pipeline.run(3);
  pipeline.truth.link_delay_s = {0.030, 0.0, 0.060};
  pipeline.run(3);
  pipeline.truth.link_delay_s[0] = 0;
  pipeline.run(5);
  EXPECT_FALSE(pipeline.paths()[0].delegated);
  EXPECT_TRUE(pipeline.paths()[2].delegated);
}

TEST(AdaptationController, never_delegates_where_only_direct_paths_are_allowed_but_replans) {
  AdaptationSettings settings = EmulatedPipeline::deterministic();
  settings.paths = PathChoice::direct_only;
  EmulatedPipeline pipeline(12, ten_ms(4), {}, settings);
  const parallel::PipelineSchedule initial = pipeline.controller.running();
  pipeline.run(3);
  pipeline.truth.link_delay_s[2] = 0.015;
  pipeline.run(5);
  EXPECT_EQ(pipeline.count(AdaptationKind::straggler, 2), 1);
  EXPECT_EQ(pipeline.count(AdaptationKind::delegate), 0);
  EXPECT_LE(pipeline.true_s(pipeline.controller.running()), pipeline.true_s(initial));
}

TEST(AdaptationController, delegates_a_link_whose_direct_path_broke_until_it_is_mended) {
  EmulatedPipeline pipeline(12, ten_ms(4));
  pipeline.run(3);
  pipeline.direct_usable[1] = 0;
  pipeline.run(1);
  EXPECT_TRUE(pipeline.paths()[1].delegated);
  pipeline.run(20);
  EXPECT_TRUE(pipeline.paths()[1].delegated);
  pipeline.direct_usable[1] = 1;
  pipeline.run(1);
  EXPECT_FALSE(pipeline.paths()[1].delegated);
}

TEST(AdaptationController, tells_of_a_path_that_broke_and_of_one_that_is_back_what_it_tells_of_others) {
  for (const int skipped : {0, 10}) {  // iterations at the run's beginning that are not looked at
    AdaptationSettings settings = EmulatedPipeline::deterministic();
    settings.skipped_iterations = skipped;
    EmulatedPipeline pipeline(12, ten_ms(4), {}, settings);
    pipeline.run(3);
    pipeline.direct_usable[1] = 0;
    pipeline.run(20);
    pipeline.direct_usable[1] = 1;
    pipeline.run(2);
    ASSERT_EQ(pipeline.count(AdaptationKind::delegate), 1);
    ASSERT_EQ(pipeline.count(AdaptationKind::direct), 1);
    for (const AdaptationEvent& event : pipeline.achieved) {
      EXPECT_EQ(event.link, 1);
      EXPECT_EQ(event.step, event.kind == AdaptationKind::delegate ? 3 : 23);
      const auto step = static_cast<std::size_t>(event.step);
      EXPECT_EQ(event.before_s, pipeline.iteration_s[step]);
      EXPECT_EQ(event.achieved_s, pipeline.iteration_s[step + 1]);
      if (step < static_cast<std::size_t>(skipped)) continue;
      EXPECT_GT(event.delay_s, 0);
      EXPECT_NEAR(event.predicted_s, *event.achieved_s, 0.02 * event.predicted_s);
    }
  }
}

TEST(AdaptationController, leaves_a_slow_link_to_its_delegates_when_its_direct_path_is_back) {
  EmulatedPipeline pipeline(12, ten_ms(4));
  pipeline.run(3);
  pipeline.direct_usable[1] = 0;
  pipeline.run(1);
  pipeline.truth.link_delay_s[1] = 0.030;
  pipeline.run(5);
  pipeline.direct_usable[1] = 1;
  pipeline.run(5);
  EXPECT_TRUE(pipeline.paths()[1].delegated);
  EXPECT_EQ(pipeline.count(AdaptationKind::delegate), 1);
  EXPECT_EQ(pipeline.count(AdaptationKind::direct), 0);
  pipeline.truth.link_delay_s[1] = 0;
  pipeline.run(5);
  EXPECT_FALSE(pipeline.paths()[1].delegated);
  EXPECT_EQ(pipeline.count(AdaptationKind::direct), 1);
}

TEST(AdaptationController, tells_when_a_link_that_was_run_directly_goes_back_to_delegates) {
  PipelineCosts costs = ten_ms(4);
  costs.link_delay_s = {0, 0.030, 0};
  const parallel::PipelineSchedule schedule = parallel::plan_initial(12, ten_ms(4), {});
  const AdaptationSettings settings = EmulatedPipeline::deterministic();
  AdaptationController controller(12, {}, schedule, settings);
  const StageMeasurement stage{
      .passes = {0.01, 0.01, 0.01}, .activations = {.samples = 12}, .gradients = {.samples = 12}};
  PipelineMeasurement measured{.stages = std::vector(4, stage),
                               .iteration_s = predict_s(schedule, costs, settings.direct, {0, 0, 0})};
  measured.stages[2].activations.delay_s = measured.stages[1].gradients.delay_s = 0.030;
  std::vector<LinkCondition> conditions(3);
  const auto delegated_after = [&](std::int64_t step) {
    controller.observe(step, measured, conditions);
    const auto events = controller.decide().events;
    return std::count_if(events.begin(), events.end(), [](const AdaptationEvent& event) {
      return event.kind == AdaptationKind::delegate && event.link == 1;
    });
  };
  EXPECT_EQ(delegated_after(0), 1);
  conditions[1].delegated = true;
  EXPECT_EQ(delegated_after(1), 0);
  conditions[1].delegated = false;
  EXPECT_EQ(delegated_after(2), 1);
}

TEST(AdaptationController, takes_as_many_delegates_as_keep_up_with_production) {
  EmulatedPipeline pipeline(24, ten_ms(4));
  pipeline.run(3);
  pipeline.truth.link_delay_s = {0.015, 0.0, 0.060};
  pipeline.run(3);
  EXPECT_EQ(pipeline.paths()[0].delegates, 3);
  EXPECT_GE(pipeline.paths()[2].delegates, 7);
  EXPECT_LE(pipeline.paths()[2].delegates, 8);
}

TEST(AdaptationController, tells_the_copies_of_delegates_from_the_delay_of_the_network) {
  AdaptationSettings settings = EmulatedPipeline::deterministic();
  settings.delegate_overhead_s = 0.010;
  EmulatedPipeline pipeline(12, ten_ms(4), {}, settings);
  pipeline.run(3);
  pipeline.truth.link_delay_s[1] = 0.030;
  pipeline.run(4);
  EXPECT_TRUE(pipeline.paths()[1].delegated);
  EXPECT_NEAR(pipeline.achieved.back().predicted_s, pipeline.true_s(pipeline.controller.running()), 0.01);
  pipeline.truth.link_delay_s[1] = 0;
  pipeline.run(4);
  EXPECT_FALSE(pipeline.paths()[1].delegated);
}

TEST(AdaptationController, leaves_a_link_direct_whose_copies_would_cost_more_than_its_queue) {
  AdaptationSettings settings = EmulatedPipeline::deterministic();
  settings.delegate_overhead_s = 0.100;
  EmulatedPipeline pipeline(12, ten_ms(4), {}, settings);
  pipeline.run(3);
  pipeline.truth.link_delay_s[1] = 0.008;
  pipeline.run(4);
  EXPECT_EQ(pipeline.count(AdaptationKind::straggler, 1), 1);
  EXPECT_FALSE(pipeline.paths()[1].delegated);
}

/// A message takes 40 ms while nothing is wrong, as the layout knows, and holds the wire for all of that.
EmulatedPipeline with_slow_wires() {
  PipelineCosts costs = ten_ms(4);
  costs.link_delay_s.assign(3, 0.040);
  costs.wire_s = 0.040;
  AdaptationSettings settings = EmulatedPipeline::deterministic();
  settings.forecast.wire_s = 0.040;
  return {12, costs, {}, settings};
}

TEST(AdaptationController, answers_links_as_slow_as_their_layout_says_and_calls_none_a_straggler) {
  EmulatedPipeline pipeline = with_slow_wires();
  pipeline.run(10);
  EXPECT_EQ(pipeline.count(AdaptationKind::straggler), 0);
  EXPECT_EQ(pipeline.count(AdaptationKind::delegate), 3);
  for (const LinkPath& path : pipeline.paths()) {
    EXPECT_TRUE(path.delegated);
    EXPECT_LE(path.delegates, 3) << "no more than keep the wire busy";
  }
  ASSERT_FALSE(pipeline.achieved.empty());
  for (const AdaptationEvent& event : pipeline.achieved)
    EXPECT_NEAR(*event.achieved_s, event.predicted_s, 0.03 * event.predicted_s);
}

TEST(AdaptationController, tells_of_each_time_that_a_link_is_slower_than_its_layout_says) {
  EmulatedPipeline pipeline = with_slow_wires();
  pipeline.run(5);
  for (const int times : {1, 2}) {
    pipeline.truth.link_delay_s[1] = 0.120;
    pipeline.run(8);
    EXPECT_EQ(pipeline.count(AdaptationKind::straggler), times);
    EXPECT_EQ(pipeline.count(AdaptationKind::straggler, 1), times);
    pipeline.truth.link_delay_s[1] = 0.040;
    pipeline.run(8);
  }
}

TEST(ScheduleScorer, lets_messages_of_delegated_links_wait_for_the_wire_that_they_share) {
  PipelineCosts costs = ten_ms(4);
  costs.link_delay_s.assign(3, 0.040);
  const parallel::PipelineSchedule schedule = parallel::plan_initial(12, costs, {});
  const parallel::TransferModel direct = EmulatedPipeline::deterministic().direct;
  const double latency_s = predict_s(schedule, costs, direct, {1, 1, 1});
  costs.wire_s = 0.040;
  const double wire_s = predict_s(schedule, costs, direct, {1, 1, 1});
  EXPECT_GT(wire_s, 1.2 * latency_s);
  EXPECT_LT(wire_s, predict_s(schedule, costs, direct, {0, 0, 0}))
      << "direct messages hold up their stage as well";
}

}  // namespace
}  // namespace tenax::resilience
