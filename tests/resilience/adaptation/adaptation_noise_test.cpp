// AdaptationController on machines that are noisy, and with links that keep changing.
#include <gtest/gtest.h>

#include <utility>

#include "resilience/adaptation/adaptation_controller.hpp"
#include "tests/resilience/adaptation/emulated_pipeline.hpp"

namespace tenax::resilience {
namespace {

using parallel::PipelineCosts;

PipelineCosts passes_of(int stages, double seconds) {
  return PipelineCosts::uniform(stages, {seconds, seconds, seconds});
}

int switches(const EmulatedPipeline& pipeline, int link = -1) {
  return pipeline.count(AdaptationKind::delegate, link) + pipeline.count(AdaptationKind::direct, link);
}

/// Two stages of 2 ms passes whose ranks share cores.
EmulatedPipeline crowded(double stall_share, double least_stall_s, double most_stall_s) {
  EmulatedPipeline pipeline(4, passes_of(2, 0.002));
  pipeline.stall_share = stall_share;
  pipeline.least_stall_s = least_stall_s;
  pipeline.most_stall_s = most_stall_s;
  return pipeline;
}

TEST(AdaptationController, leaves_links_alone_whose_ranks_share_cores) {
  for (const auto& [share, most] : {std::pair{0.1, 10}, {0.3, 10}, {0.5, 2}, {0.9, 2}}) {
    EmulatedPipeline pipeline = crowded(share, 0.004, 0.012);
    pipeline.run(400);
    EXPECT_LE(switches(pipeline), most) << share;
  }
}

TEST(AdaptationController, answers_a_slow_link_at_the_next_boundary_also_where_ranks_share_cores) {
  EmulatedPipeline pipeline = crowded(0.9, 0.002, 0.005);
  pipeline.run(50);
  pipeline.truth.link_delay_s[0] = 0.030;
  pipeline.run(1);
  EXPECT_TRUE(pipeline.paths()[0].delegated);
}

// A rank was stopped, or touched its memory first.
TEST(AdaptationController, answers_a_slow_link_also_where_one_iteration_before_took_very_long) {
  for (const double jitter : {0.0, 0.03, 0.1})
    for (const int at : {0, 5}) {
      EmulatedPipeline pipeline(12, passes_of(4, 0.010));
      pipeline.pass_jitter = jitter;
      pipeline.run(at);
      pipeline.unexplained_s = 300;
      pipeline.run(1);
      pipeline.unexplained_s = 0;
      pipeline.run(5);
      pipeline.truth.link_delay_s[2] = 0.030;
      pipeline.run(3);
      EXPECT_TRUE(pipeline.paths()[2].delegated) << jitter << ", " << at;
    }
}

// The link became slow while the evaluator was wrong by more than its delay costs.
TEST(AdaptationController, answers_a_slow_link_once_the_evaluator_is_right_again) {
  EmulatedPipeline pipeline(12, passes_of(4, 0.010));
  pipeline.pass_jitter = 0;
  pipeline.unexplained_s = 300;
  pipeline.run(10);
  pipeline.truth.link_delay_s[2] = 0.030;
  pipeline.run(10);
  EXPECT_FALSE(pipeline.paths()[2].delegated);
  pipeline.unexplained_s = 0;
  pipeline.run(5);
  EXPECT_TRUE(pipeline.paths()[2].delegated);
}

TEST(AdaptationController, holds_a_link_that_keeps_changing_until_it_was_well_for_long) {
  EmulatedPipeline pipeline(12, passes_of(4, 0.010));
  pipeline.run(5);
  for (int i = 0; i < 20; ++i) {
    pipeline.truth.link_delay_s[1] = i % 2 == 0 ? 0.030 : 0;
    pipeline.run(20);
  }
  EXPECT_LE(switches(pipeline, 1), 7);
  EXPECT_LE(pipeline.count(AdaptationKind::straggler), 4);
  EXPECT_TRUE(pipeline.paths()[1].delegated);
  pipeline.run(60);
  EXPECT_FALSE(pipeline.paths()[1].delegated);
}

TEST(AdaptationController, tells_for_how_long_it_holds_a_link) {
  EmulatedPipeline pipeline(12, passes_of(4, 0.010));
  pipeline.run(5);
  std::vector<int> holds;
  for (int i = 0; i < 3; ++i) {
    pipeline.truth.link_delay_s[1] = 0.030;
    pipeline.run(10);
    int hold = -1;
    for (const AdaptationEvent& event : pipeline.events)
      if (event.kind == AdaptationKind::delegate) hold = event.hold_steps;
    holds.push_back(hold);
    pipeline.truth.link_delay_s[1] = 0;
    pipeline.run(40);
  }
  EXPECT_EQ(holds, (std::vector{0, 8, 16}));
}

// A direct path that breaks again and again.
TEST(AdaptationController, holds_a_link_whose_direct_path_keeps_breaking) {
  EmulatedPipeline pipeline(12, passes_of(4, 0.010));
  pipeline.run(5);
  for (int i = 0; i < 20; ++i) {
    pipeline.direct_usable[1] = i % 2;
    pipeline.run(10);
  }
  EXPECT_LE(switches(pipeline, 1), 5);
  EXPECT_TRUE(pipeline.paths()[1].delegated);
}

}  // namespace
}  // namespace tenax::resilience
