// Ranks as threads, each with a clock of its own, and records as an executor would report them.
#include "resilience/adaptation/pipeline_monitor.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cmath>
#include <iostream>
#include <mutex>

#include "kernels/error.hpp"
#include "parallel/planner/baselines.hpp"
#include "parallel/schedule/timeline.hpp"
#include "resilience/adaptation/pass_times.hpp"
#include "resilience/adaptation/pipeline_measurement.hpp"
#include "tests/comm/thread_ranks.hpp"

namespace tenax::resilience {
namespace {

using parallel::Pass;
using parallel::TransferKind;
using parallel::TransferRecord;

struct Scene {
  int stages = 4, lanes = 1, microbatches = 12;
  parallel::PipelineCosts costs;
  bool tells_start = true;      ///< links say when transmission began
  std::vector<double> ahead_s;  ///< each stage's clock against the true time
};

Scene scene_of(int stages, int microbatches) {
  Scene scene{.stages = stages,
              .microbatches = microbatches,
              .costs = parallel::PipelineCosts::uniform(stages, {0.010, 0.012, 0.008}),
              .ahead_s = {}};
  for (int link = 0; link + 1 < stages; ++link) scene.costs.link_delay_s.push_back(0.001 * (link + 1));
  for (int stage = 0; stage < stages; ++stage) scene.ahead_s.push_back(1000.0 * stage * (stage % 2 ? 1 : -1));
  return scene;
}

/// Plays `schedule` at the scene's times to the monitor of `stage`, `slowdown` times slower.
void play(const Scene& scene, const parallel::PipelineSchedule& schedule, int stage, double slowdown,
          parallel::ScheduleObserver& observer) {
  const auto timeline = parallel::simulate(schedule, scene.costs);
  const auto& rows = timeline.ops_of_stage;
  const auto clock = [&](int of_stage, double true_s) {
    return slowdown * true_s + scene.ahead_s[static_cast<std::size_t>(of_stage)];
  };
  const auto sent_s = [&](int of_stage, Pass pass, int microbatch) {
    const auto& ops = schedule.ops_of_stage[static_cast<std::size_t>(of_stage)];
    for (std::size_t i = 0; i < ops.size(); ++i)
      if (ops[i].microbatch == microbatch && (ops[i].pass == pass))
        return rows[static_cast<std::size_t>(of_stage)][i].end_s;
    return std::nan("");
  };
  const auto receive = [&](TransferKind kind, int from, Pass pass, int microbatch, int link) {
    const double start_s = sent_s(from, pass, microbatch);
    TransferRecord record;
    record.kind = kind;
    record.microbatch = microbatch;
    record.prompt = true;
    record.end_s = clock(stage, start_s + scene.costs.delay_s(link));
    if (scene.tells_start) record.started_s = clock(from, start_s);
    observer.on_transfer(record);
  };
  const auto& ops = schedule.ops_of_stage[static_cast<std::size_t>(stage)];
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const auto [pass, microbatch] = ops[i];
    const parallel::OpTime time = rows[static_cast<std::size_t>(stage)][i];
    const bool forward = pass == Pass::forward;
    if (forward && stage > 0)
      receive(TransferKind::receive_activation, stage - 1, Pass::forward, microbatch, stage - 1);
    if (gives_input_gradient(pass) && stage + 1 < scene.stages)
      receive(TransferKind::receive_gradient, stage + 1, pass, microbatch, stage);
    observer.on_pass({ops[i], clock(stage, time.start_s), clock(stage, time.end_s)});
    TransferRecord sent;
    sent.microbatch = microbatch;
    sent.begin_s = clock(stage, time.end_s);
    sent.kind = forward ? TransferKind::send_activation : TransferKind::send_gradient;
    if (forward ? stage + 1 < scene.stages : gives_input_gradient(pass) && stage > 0)
      observer.on_transfer(sent);
  }
}

/// What watches a rank's step: its passes, and its pipeline.
struct Watch : parallel::ScheduleObserver {
  PassTimes passes;
  PipelineMonitor monitor;

  template <class... Arguments>
  explicit Watch(Arguments&&... arguments) : monitor(std::forward<Arguments>(arguments)...) {}
  void on_pass(const parallel::PassRecord& record) override {
    passes.on_pass(record);
    monitor.on_pass(record);
  }
  void on_transfer(const TransferRecord& record) override {
    passes.on_transfer(record);
    monitor.on_transfer(record);
  }
  PipelineMeasurement finish_step() { return monitor.finish_step(passes.take()); }
};

/// All ranks' measurements of `steps` steps' last one, by world rank. Lane l is 1 + l/10 times slower.
std::vector<PipelineMeasurement> measure(const Scene& scene, int steps) {
  std::vector<PipelineMeasurement> measured(static_cast<std::size_t>(scene.stages * scene.lanes));
  const auto schedule = parallel::plan_zero_bubble(scene.microbatches, scene.costs);
  comm::run_ranks(scene.stages * scene.lanes, 30, [&](comm::World& world) {
    const int stage = world.rank() / scene.lanes, lane = world.rank() % scene.lanes;
    const auto pipeline = world.split_endpoint(lane, stage);
    const auto group = world.control_group();
    Watch watch(scene.microbatches, *pipeline, *group,
                MonitorOptions{.lane = lane, .realign_interval = 2, .deadline_s = 30},
                [&] { return comm::steady_now_s() + scene.ahead_s[static_cast<std::size_t>(stage)]; });
    for (int step = 0; step < steps; ++step) {
      play(scene, schedule, stage, 1 + 0.1 * lane, watch);
      measured[static_cast<std::size_t>(world.rank())] = watch.finish_step();
    }
  });
  return measured;
}

// `slowdown`: of the slowest lane; `least`: of the passes of the fastest one.
void expect_measured(const Scene& scene, const PipelineMeasurement& measured, double slowdown, double least) {
  ASSERT_EQ(measured.stages.size(), static_cast<std::size_t>(scene.stages));
  for (const StageMeasurement& stage : measured.stages) {
    EXPECT_NEAR(stage.passes.forward_s, 0.010 * least, 1e-9);
    EXPECT_NEAR(stage.passes.backward_input_s, 0.012 * least, 1e-9);
    EXPECT_NEAR(stage.passes.backward_weight_s, 0.008 * least, 1e-9);
  }
  double error_s = 0;
  for (int link = 0; link + 1 < scene.stages; ++link)
    for (const LinkMeasurement& of :
         {measured.down(static_cast<std::size_t>(link)), measured.up(static_cast<std::size_t>(link))}) {
      EXPECT_NEAR(of.delay_s, scene.costs.delay_s(link) * slowdown, of.error_s + 1e-9) << link;
      EXPECT_GT(of.samples, 0);
      error_s = std::max(error_s, of.error_s);
    }
  const double truth_s =
      parallel::simulate(parallel::plan_zero_bubble(scene.microbatches, scene.costs), scene.costs).makespan_s;
  EXPECT_NEAR(measured.iteration_s, truth_s * slowdown, scene.stages * error_s + 1e-9);
}

TEST(PipelineMonitor, measures_passes_and_links_across_clocks_that_differ_by_hours) {
  const Scene scene = scene_of(4, 12);
  const auto measured = measure(scene, 5);
  for (const PipelineMeasurement& of_rank : measured) EXPECT_EQ(of_rank, measured[0]);
  expect_measured(scene, measured[0], 1, 1);
}

TEST(PipelineMonitor, infers_the_start_of_transmission_where_links_do_not_tell) {
  Scene scene = scene_of(4, 12);
  scene.tells_start = false;
  expect_measured(scene, measure(scene, 1)[0], 1, 1);
}

TEST(PipelineMonitor, takes_the_passes_of_the_tensor_rank_that_waits_least_equally_everywhere) {
  Scene scene = scene_of(3, 6);
  scene.lanes = 2;
  const auto measured = measure(scene, 3);
  for (const PipelineMeasurement& of_rank : measured) EXPECT_EQ(of_rank, measured[0]);
  expect_measured(scene, measured[0], 1.1, 1);
}

TEST(PipelineMonitor, measures_a_pipeline_of_one_stage) {
  const Scene scene = scene_of(1, 4);
  expect_measured(scene, measure(scene, 2)[0], 1, 1);
}

// The attempt that a lost replica made void was 100 s before, over a link that was slower then.
TEST(PipelineMonitor, measures_a_repeated_step_without_its_void_attempt) {
  const Scene scene = scene_of(2, 4);
  Scene of_void = scene;
  of_void.costs.link_delay_s = {0.5};
  of_void.ahead_s = {scene.ahead_s[0] - 100, scene.ahead_s[1] - 100};
  const auto schedule = parallel::plan_zero_bubble(scene.microbatches, scene.costs);
  comm::run_ranks(scene.stages, 10, [&](comm::World& world) {
    const int stage = world.rank();
    const auto pipeline = world.split_endpoint(0, stage);
    const auto group = world.control_group();
    Watch watch(scene.microbatches, *pipeline, *group, MonitorOptions{.deadline_s = 10},
                [&] { return comm::steady_now_s() + scene.ahead_s[static_cast<std::size_t>(stage)]; });
    play(of_void, schedule, stage, 1, watch);
    watch.passes.take();
    watch.monitor.skip_step();
    play(scene, schedule, stage, 1, watch);
    const PipelineMeasurement measured = watch.finish_step();
    expect_measured(scene, measured, 1, 1);
    EXPECT_LE(measured.down(0).samples, scene.microbatches);
  });
}

TEST(PipelineMonitor, says_nothing_of_a_step_that_it_did_not_see) {
  comm::run_ranks(2, 10, [](comm::World& world) {
    const auto pipeline = world.split_endpoint(0, world.rank());
    const auto group = world.control_group();
    PipelineMonitor monitor(4, *pipeline, *group, {.deadline_s = 10});
    const PipelineMeasurement measured = monitor.finish_step({});
    EXPECT_EQ(measured.down(0).samples, 0);
    EXPECT_EQ(measured.iteration_s, 0);
  });
}

// Not an assertion: what a step of measuring costs. Half a percent of a 100 ms iteration is 500 µs.
TEST(PipelineMonitor, reports_its_cost) {
  const Scene scene = scene_of(8, 32);
  const auto schedule = parallel::plan_zero_bubble(scene.microbatches, scene.costs);
  comm::run_ranks(scene.stages, 30, [&](comm::World& world) {
    const int stage = world.rank();
    const auto pipeline = world.split_endpoint(0, stage);
    const auto group = world.control_group();
    Watch watch(scene.microbatches, *pipeline, *group, MonitorOptions{.deadline_s = 30});
    constexpr int kSteps = 50;
    double seconds = 0;
    for (int step = 0; step < kSteps; ++step) {
      play(scene, schedule, stage, 1, watch);
      group->all_gather({});
      const double begin_s = comm::steady_now_s();
      watch.finish_step();
      seconds += comm::steady_now_s() - begin_s;
    }
    if (stage == 0)
      std::cout << "finish_step, 8 stages, 32 microbatches: " << seconds / kSteps * 1e6 << " us\n";
  });
}

TEST(PassTimes, splits_a_fused_backward_where_it_sent_its_gradient_on) {
  PassTimes passes;
  for (int m = 0; m < 3; ++m) {
    passes.on_pass({{Pass::backward, m}, 10.0 * m, 10.0 * m + 5});
    passes.on_transfer({TransferKind::send_gradient, m, 64, 10.0 * m + 3, 10.0 * m + 9, {}, false});
  }
  const PassMeasurement first = passes.take();
  EXPECT_NEAR(first.backward_input_s, 3, 1e-12);
  EXPECT_NEAR(first.backward_weight_s, 2, 1e-12);
  passes.on_pass({{Pass::backward, 0}, 0, 10});  // not sent: in the proportion last seen
  EXPECT_NEAR(passes.take().backward_input_s, 6, 1e-12);
}

TEST(PassTimes, tells_for_how_long_a_forward_or_backward_input_pass_was_stalled) {
  PassTimes passes;
  for (const auto& [pass, seconds] :
       {std::pair{Pass::forward, 5.0}, {Pass::backward_input, 6.0}, {Pass::backward_weight, 4.0}})
    for (int m = 0; m < 4; ++m) passes.on_pass({{pass, m}, 100.0 * m, 100.0 * m + seconds});
  PassTimes stalled = passes, in_weights = passes;
  EXPECT_NEAR(passes.take().stall_s, 0, 1e-12);
  stalled.on_pass({{Pass::backward_input, 4}, 1000, 1009});
  EXPECT_NEAR(stalled.take().stall_s, 3, 1e-12);
  EXPECT_NEAR(stalled.take().stall_s, 0, 1e-12);  // that of a step alone
  in_weights.on_pass({{Pass::backward_weight, 4}, 1000, 1009});
  EXPECT_NEAR(in_weights.take().stall_s, 0, 1e-12);
}

TEST(StageMeasurement, lets_the_lane_decide_whose_link_is_slower_for_certain_and_whose_passes_stalled_less) {
  const auto summary = [](int stage, int lane, LinkMeasurement activations, double stall_s) {
    StageMeasurement of;
    of.stage = stage;
    of.lane = lane;
    of.activations = activations;
    of.passes.stall_s = stall_s;
    return of;
  };
  const StageMeasurement first = summary(0, 0, {}, 2), other_first = summary(0, 1, {}, 3);
  const StageMeasurement second = summary(1, 0, {.delay_s = 9, .late_s = 8, .samples = 5}, 0);
  const StageMeasurement other_second = summary(1, 1, {.delay_s = 4, .late_s = 1, .samples = 5}, 0);
  for (const auto& summaries : {std::array{first, second, other_first, other_second},
                                std::array{other_first, other_second, first, second}}) {
    const PipelineMeasurement all = combine(summaries);
    EXPECT_EQ(all.down(0).delay_s, 4);
    EXPECT_EQ(all.stages[0].passes.stall_s, 2);
    EXPECT_EQ(all.stages[1].passes.stall_s, 0);
  }
}

TEST(StageMeasurement, refuses_bytes_of_another_build) {
  EXPECT_THROW(stage_of_bytes("short"), kernels::Error);
}

}  // namespace
}  // namespace tenax::resilience
