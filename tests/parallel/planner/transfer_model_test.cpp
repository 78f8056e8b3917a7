// simulate() with messages that wait for each other.
#include <gtest/gtest.h>

#include <random>

#include "parallel/planner/baselines.hpp"
#include "parallel/planner/order_evaluator.hpp"
#include "parallel/policies/schedule_policy.hpp"
#include "parallel/schedule/timeline.hpp"
#include "tests/parallel/expect_error.hpp"
#include "tests/parallel/random_pipelines.hpp"

namespace tenax::parallel {
namespace {

using Kind = TransferModel::Kind;
constexpr Pass F = Pass::forward, B = Pass::backward_input, W = Pass::backward_weight;

double makespan_ms(const PipelineSchedule& schedule, const PipelineCosts& costs, const TransferModel& model) {
  return simulate(schedule, costs, model).makespan_s * 1e3;
}

TransferModel send_queue(int depth) { return {.kind = Kind::send_queue, .queue_depth = depth}; }

// F F F on stage 0 of 1 s each over a link of 10 s.
const PipelineSchedule kThree{{{{F, 0}, {F, 1}, {F, 2}, {B, 0}, {W, 0}, {B, 1}, {W, 1}, {B, 2}, {W, 2}},
                               {{F, 0}, {B, 0}, {W, 0}, {F, 1}, {B, 1}, {W, 1}, {F, 2}, {B, 2}, {W, 2}}}};

TEST(SendQueue, blocks_a_stage_while_its_queue_is_full) {
  const PipelineCosts costs{{{1, 1, 1}, {1, 1, 1}}, {10}};
  const auto starts = [&](int depth) {
    const Timeline timeline = simulate(kThree, costs, send_queue(depth));
    std::vector<double> times;
    for (std::size_t i = 0; i < 3; ++i) times.push_back(timeline.ops_of_stage[0][i].start_s);
    return times;
  };
  // One place: F1 runs while F0's message is in transit (1 to 11), but cannot be posted before 11; F2 follows.
  EXPECT_EQ(starts(1), (std::vector<double>{0, 1, 11}));
  EXPECT_EQ(starts(2), (std::vector<double>{0, 1, 2}));
}

TEST(SendQueue, sends_one_message_at_a_time_in_order) {
  const PipelineCosts costs{{{1, 1, 1}, {1, 1, 1}}, {10}};
  const Timeline timeline = simulate(kThree, costs, send_queue(100));
  EXPECT_EQ(timeline.ops_of_stage[1][0].start_s, 11);
  EXPECT_EQ(timeline.ops_of_stage[1][3].start_s, 21);
  EXPECT_EQ(timeline.ops_of_stage[1][6].start_s, 31);
}

TEST(SendQueue, is_shared_by_both_directions_of_a_stage) {
  // Stage 1 sends F0 down (5 s) and then B0' up: behind it in the same queue.
  const PipelineCosts costs{{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}, {0, 5}};
  const PipelineSchedule schedule{{{{F, 0}, {F, 1}, {B, 0}, {W, 0}, {B, 1}, {W, 1}},
                                   {{F, 0}, {B, 0}, {F, 1}, {W, 0}, {B, 1}, {W, 1}},
                                   {{F, 0}, {B, 0}, {W, 0}, {F, 1}, {B, 1}, {W, 1}}}};
  const Timeline timeline = simulate(schedule, costs, send_queue(4));
  EXPECT_EQ(timeline.ops_of_stage[1][1].start_s, 14);  // F0 sent 2 to 7, F and B below to 9, B0 up 9 to 14
  EXPECT_EQ(timeline.ops_of_stage[0][2].start_s, 15);  // nothing before it in the queue
  EXPECT_EQ(timeline.ops_of_stage[2][3].start_s, 21);  // F1 ends at 16 and leaves at once: 21
  const PipelineSchedule swapped{{schedule.ops_of_stage[0],
                                  {{F, 0}, {F, 1}, {B, 0}, {W, 0}, {B, 1}, {W, 1}},
                                  {{F, 0}, {B, 0}, {W, 0}, {F, 1}, {B, 1}, {W, 1}}}};
  PipelineCosts slow = costs;
  slow.link_delay_s = {0, 20};
  // F0 travels 2 to 22, F1 22 to 42; B0 starts at 44 (22 + 2 + 20) and its message waits for nothing.
  EXPECT_EQ(simulate(swapped, slow, send_queue(4)).ops_of_stage[0][2].start_s, 45);
  slow.link_delay_s = {0, 30};
  // F1 travels 32 to 62; the last stage sends B0 at 34, which arrives at 64.
  EXPECT_EQ(simulate(swapped, slow, send_queue(4)).ops_of_stage[1][2].start_s, 64);
}

TEST(SharedChannel, serves_the_first_comer_of_both_directions) {
  const PipelineCosts costs{{{1, 1, 1}, {1, 1, 1}}, {10}};
  const Timeline timeline = simulate(kThree, costs, {.kind = Kind::shared_channel});
  // Posted: F0 at 1, F1 at 2, F2 at 3, B0 at 13: channel 1-11, 11-21, 21-31, 31-41.
  EXPECT_EQ(timeline.ops_of_stage[0][2].start_s, 2);
  EXPECT_EQ(timeline.ops_of_stage[1][6].start_s, 31);
  EXPECT_EQ(timeline.ops_of_stage[0][3].start_s, 41);
}

TEST(SharedChannel, lets_pairs_pass_each_other) {
  const PipelineCosts costs{{{1, 1, 1}, {1, 1, 1}}, {10}};
  const Timeline timeline = simulate(kThree, costs, {.kind = Kind::shared_channel, .paired = true});
  EXPECT_EQ(timeline.ops_of_stage[1][6].start_s, 31);
  EXPECT_EQ(timeline.ops_of_stage[0][3].start_s, 23);  // B0 posted at 13
}

TEST(DelegatedLinks, let_messages_of_a_direction_overlap_but_for_what_holds_the_wire) {
  PipelineCosts costs{{{1, 1, 1}, {1, 1, 1}}, {10}, 4};
  for (const TransferModel& model : {TransferModel{},
                                     {.kind = Kind::send_queue, .delegated = {1}},
                                     {.kind = Kind::shared_channel, .delegated = {1}}}) {
    const Timeline timeline = simulate(kThree, costs, model);
    // Posted: F0 at 1, F1 at 2, F2 at 3: on the wire 1-5, 5-9, 9-13. B0, posted at 13, has the other direction's wire.
    EXPECT_EQ(timeline.ops_of_stage[0][2].start_s, 2);
    EXPECT_EQ(timeline.ops_of_stage[1][0].start_s, 11);
    EXPECT_EQ(timeline.ops_of_stage[1][3].start_s, 15);
    EXPECT_EQ(timeline.ops_of_stage[1][6].start_s, 19);
    EXPECT_EQ(timeline.ops_of_stage[0][3].start_s, 23);
  }
  costs.wire_s = 1000;
  EXPECT_EQ(makespan_ms(kThree, costs, {}),
            makespan_ms(kThree, costs, {.kind = Kind::shared_channel, .paired = true}))
      << "a message holds the wire no longer than it travels";
}

TEST(DelegatedLinks, are_planned_for_as_they_are_simulated) {
  std::mt19937 random(64);
  for (int round = 0; round < 50; ++round) {
    RandomPipeline pipeline = random_pipeline(random, 6, 12);
    pipeline.costs.wire_s = std::uniform_real_distribution(0.0, 0.05)(random);
    const PlanningProblem problem(pipeline.microbatches, pipeline.costs, {});
    const PipelineSchedule schedule = plan_zero_bubble(pipeline.microbatches, pipeline.costs);
    EXPECT_NEAR(to_seconds(OrderEvaluator(problem).evaluate(order_of(schedule, problem))),
                simulate(schedule, pipeline.costs).makespan_s, 1e-6);
  }
}

TEST(DelegatedLinks, get_orders_that_keep_a_wire_busy_which_is_slower_than_passes) {
  PipelineCosts costs = PipelineCosts::uniform(4, {0.010, 0.010, 0.010});
  costs.link_delay_s.assign(3, 0.040);
  costs.wire_s = 0.040;
  constexpr int kMicrobatches = 12;
  // The first forward and the last backward cross four stages and three links, and twelve messages one link each way.
  const PipelineSchedule schedule = plan_schedule(policy_of_name("adaptive"), kMicrobatches, costs);
  EXPECT_LE(simulate(schedule, costs).makespan_s, 0.800);
}

TEST(TransferModels, equal_pure_latency_without_delays_and_on_delegated_links) {
  std::mt19937 random(61);
  for (int round = 0; round < 100; ++round) {
    RandomPipeline pipeline = random_pipeline(random, 6, 12);
    const PipelineSchedule schedule =
        plan_schedule(policy_of_name("zero_bubble"), pipeline.microbatches, pipeline.costs);
    for (const Kind kind : {Kind::send_queue, Kind::shared_channel}) {
      TransferModel model{.kind = kind,
                          .delegated = std::vector<char>(pipeline.costs.link_delay_s.size(), 1)};
      EXPECT_EQ(makespan_ms(schedule, pipeline.costs, model), makespan_ms(schedule, pipeline.costs, {}));
      PipelineCosts healthy = pipeline.costs;
      healthy.link_delay_s.clear();
      model.delegated.clear();
      EXPECT_EQ(makespan_ms(schedule, healthy, model), makespan_ms(schedule, healthy, {}));
    }
  }
}

TEST(TransferModels, never_beat_pure_latency_and_gain_from_room) {
  std::mt19937 random(62);
  for (int round = 0; round < 200; ++round) {
    const RandomPipeline pipeline = random_pipeline(random, 6, 12);
    const PipelineSchedule schedule =
        plan_schedule(policy_of_name("zero_bubble"), pipeline.microbatches, pipeline.costs);
    const double latency_ms = makespan_ms(schedule, pipeline.costs, {});
    EXPECT_GE(makespan_ms(schedule, pipeline.costs, {.kind = Kind::shared_channel}), latency_ms - 1e-9);
    double less_room_ms = makespan_ms(schedule, pipeline.costs, send_queue(1));
    for (const int depth : {2, 3, 100}) {
      const double more_room_ms = makespan_ms(schedule, pipeline.costs, send_queue(depth));
      EXPECT_LE(more_room_ms, less_room_ms + 1e-9);
      EXPECT_GE(more_room_ms, latency_ms - 1e-9);
      less_room_ms = more_room_ms;
    }
  }
}

TEST(TransferModels, report_a_deadlock_instead_of_a_time) {
  const PipelineSchedule schedule{{{{F, 0}, {Pass::backward, 0}}, {{Pass::backward, 0}, {F, 0}}}};
  expect_error(kernels::Scope::operation, {"deadlock", "stage 1 at BW0 waits for its own F0"}, [&] {
    simulate(schedule, PipelineCosts::uniform(2, {1, 1, 1}), send_queue(1));
  });
}

// The measurements of PipeMorph's authors on 8 stages of a 14B model, the link before the last stage delayed.
TEST(TransferModels, reproduce_the_papers_fixed_zero_bubble_on_nccl_and_on_delegates) {
  PipelineCosts costs = PipelineCosts::uniform(8, {0.0097, 0.0097, 0.0097});
  const PipelineSchedule schedule = plan_schedule(policy_of_name("zero_bubble"), 24, costs);
  const auto with = [&](double delay_ms, Kind kind) {
    costs.link_delay_s.assign(7, 0);
    costs.link_delay_s[6] = delay_ms * 1e-3;
    return makespan_ms(schedule, costs, {.kind = kind});
  };
  for (const auto& [delay_ms, logged_ms] :
       {std::pair{20, 1348}, {30, 1808}, {40, 2289}, {50, 2818}, {60, 3252}})
    EXPECT_NEAR(with(delay_ms, Kind::shared_channel), logged_ms, 0.10 * logged_ms) << delay_ms;
  for (const auto& [delay_ms, logged_ms] : {std::pair{20, 1010}, {30, 1174}, {50, 1481}, {60, 1649}})
    EXPECT_NEAR(with(delay_ms, Kind::latency), logged_ms, 0.08 * logged_ms) << delay_ms;
}

TEST(TransferModels, reproduce_the_papers_1f1b_on_nccl) {
  PipelineCosts costs = PipelineCosts::uniform(8, {0.0097, 0.0097, 0.0097});
  const PipelineSchedule schedule = plan_one_f_one_b(8, 24);
  const double healthy_ms = makespan_ms(schedule, costs, {});
  costs.link_delay_s = {0, 0, 0, 0, 0, 0, 0.06};
  EXPECT_NEAR(makespan_ms(schedule, costs, {.kind = Kind::shared_channel, .paired = true}) / healthy_ms, 2.7,
              0.15);
}

}  // namespace
}  // namespace tenax::parallel
