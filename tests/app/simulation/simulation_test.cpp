// Simulated runs beside what can be calculated.
#include "app/simulation/simulation.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace tenax::app {
namespace {

using resilience::LostCause;

/// Nothing takes time but steps and repairs.
SimulationOptions without_costs(int replicas) {
  SimulationOptions options;
  options.replicas = replicas;
  options.samples = {
      .batch = resilience::BatchRule::shrink, .global_batch = 8 * replicas, .replicas = replicas};
  options.costs.step_s = 20;
  options.costs.detect_s = {0};
  options.costs.takeover_s = 0;
  options.checkpoint_every_s = 0;
  return options;
}

/// FT-HSDP's run: 12 replicas, a failure every 18 minutes, repaired in ten.
SimulationOptions of_the_paper() {
  SimulationOptions options = without_costs(12);
  options.failure_s = 18 * kMinute_s;
  options.repair_s = 10 * kMinute_s;
  options.costs = paper_costs();
  return options;
}

double effective_percent(const SimulationOptions& options, int seeds = 3) {
  return play_seeds(options, seeds).median.time.effective_percent();
}

// Section 3: (18 − 10) / 18.
TEST(Simulation, of_one_synchronous_job_has_the_papers_44_percent) {
  SimulationOptions job = as_synchronous(of_the_paper());
  job.hours = 2000;
  EXPECT_NEAR(effective_percent(job, 5), 44, 1);
}

// Section 6.1: (8 + 7 · 11 / 12) / 18.
TEST(Simulation, of_the_papers_replicas_has_its_80_percent) {
  SimulationOptions options = of_the_paper();
  options.hours = 300;
  EXPECT_NEAR(effective_percent(options), 80, 1);
  options.is_regular = true;
  EXPECT_NEAR(effective_percent(options, 1), 80, 1);
}

// Each failure takes one of R replicas away for a repair.
TEST(Simulation, without_costs_loses_the_absent_replicas_alone) {
  for (const int replicas : {2, 4}) {
    SimulationOptions options = without_costs(replicas);
    options.failure_s = 1000 * kMinute_s / replicas;
    options.repair_s = 100 * kMinute_s;
    options.hours = 1000;
    const auto time = play_seeds(options, 3).median.time;
    EXPECT_NEAR(time.effective_percent(), 90, 1) << replicas;
    EXPECT_NEAR(time.wall_s(), options.hours * kHour_s, 1);
  }
}

TEST(Simulation, without_failures_loses_nothing_but_the_start) {
  SimulationOptions options = without_costs(3);
  options.hours = 10;
  EXPECT_GT(effective_percent(options), 99.9);
}

TEST(Simulation, with_a_warm_spare_loses_what_two_failures_at_once_take) {
  SimulationOptions options = of_the_paper();
  options.costs = without_costs(12).costs;
  options.hours = 150;
  EXPECT_NEAR(effective_percent(options), 95.4, 1);
  options.spares = 1;
  EXPECT_GT(effective_percent(options), 98);
}

// Five survivors have 12 microbatches of 60 each instead of ten.
TEST(Simulation, that_keeps_the_batch_takes_longer_for_a_step) {
  SimulationOptions options = without_costs(6);
  options.samples = {.batch = resilience::BatchRule::keep, .global_batch = 60, .replicas = 6};
  options.failure_s = 100 * kMinute_s;
  options.repair_s = 50 * kMinute_s;
  options.hours = 250;
  SimulationOptions shrink = options;
  shrink.samples.batch = resilience::BatchRule::shrink;
  const auto kept = play_seeds(options, 3).median, less = play_seeds(shrink, 3).median;
  EXPECT_LT(kept.steps, less.steps);
  EXPECT_NEAR(relative_rate(kept, less), 1, 0.02);
}

// Episodes come at random, and each leaves some of what others leave.
TEST(Simulation, of_fail_slows_loses_their_share) {
  SimulationOptions options = without_costs(1);
  options.slow = {.between_s = kHour_s, .duration_s = kHour_s / 2, .least_loss = 0.3, .most_loss = 0.5};
  options.hours = 500;
  const auto run = play_seeds(options, 3).median;
  const double speed = std::exp(-0.5 * 0.4);
  EXPECT_NEAR(options.costs.step_s * static_cast<double>(run.steps) / run.time.wall_s(), speed, 0.04);
  EXPECT_NEAR(run.time.lost_s(LostCause::slow) / run.time.wall_s(), 1 - speed, 0.06);
}

TEST(Simulation, of_several_steps_at_once_is_worth_as_much) {
  SimulationOptions options = of_the_paper();
  options.costs = {.step_s = 1, .heartbeat_s = 0.1, .dead_s = 1, .reconfigure_s = 0.1, .first_step_s = 5};
  options.hours = 10;
  const double one = effective_percent(options);
  options.costs.steps_at_once = 10;
  options.samples.global_batch *= 10;
  options.samples.unit *= 10;
  EXPECT_NEAR(effective_percent(options), one, 1);
}

// Of 36 ms each; an evaluation of 15 ms in three, a checkpoint of 33 ms in four.
TEST(Simulation, of_several_steps_at_once_pays_for_all_evaluations_and_checkpoints_in_them) {
  SimulationOptions options = without_costs(2);
  options.costs = {.step_s = 0.036, .checkpoint_s = 0.033, .evaluation_s = 0.015};
  options.evaluation_steps = 3;
  options.checkpoint_steps = 4;
  const auto percent = [&](int at_once, double steps) {
    SimulationOptions run = options;
    run.costs.steps_at_once = at_once;
    run.samples.global_batch *= at_once;
    run.samples.unit *= at_once;
    run.hours = steps * at_once * run.costs.step_s / kHour_s;
    return effective_percent(run, 1);
  };
  const double expected = 100 * 36 / (36 + 15. / 3 + 33. / 4);
  for (const int at_once : {1, 2, 3, 10, 840}) EXPECT_NEAR(percent(at_once, 3000), expected, 1) << at_once;
  options.checkpoint_steps = 0;
  options.checkpoint_every_s = 4 * options.costs.step_s;
  EXPECT_NEAR(percent(840, 3000), expected, 1);
}

TEST(Simulation, of_a_seed_is_always_the_same) {
  SimulationOptions options = of_the_paper();
  options.hours = 20;
  const SimulationResult one = SimulatedRun(options, 1).play(), again = SimulatedRun(options, 1).play(),
                         other = SimulatedRun(options, 2).play();
  EXPECT_EQ(one.time.useful_s(), again.time.useful_s());
  EXPECT_NE(one.time.useful_s(), other.time.useful_s());
}

TEST(Simulation, tells_what_more_hosts_and_a_quicker_repair_bring) {
  SimulationOptions options = of_the_paper();
  options.hours = 100;
  const SimulationResult base = play_seeds(options, 3).median;
  for (const SimulationVariant& variant : variants_of(options, 8192)) {
    const SimulationResult result = play_seeds(variant.options, 3).median;
    if (variant.name == "fail_slows")
      EXPECT_LT(result.time.effective_percent(), base.time.effective_percent());
    else
      EXPECT_GT(relative_rate(result, base), 1) << variant.name;
  }
}

// 512 samples are no multiple of 32 on each of three replicas.
TEST(Simulation, with_one_more_replica_has_a_batch_of_whole_units) {
  SimulationOptions options = without_costs(3);
  options.samples = {.batch = resilience::BatchRule::keep, .global_batch = 512, .replicas = 3, .unit = 32};
  options.hours = 10;
  SimulationOptions larger = variants_of(options, 8).front().options;
  EXPECT_EQ(larger.samples.global_batch, 512 + 5 * 32);
  EXPECT_GT(relative_rate(play_seeds(larger, 1).median, play_seeds(options, 1).median), 1);
  options.samples.global_batch = 64;  // less than a unit for each
  larger = variants_of(options, 8).front().options;
  EXPECT_EQ(larger.samples.global_batch, 96);
}

}  // namespace
}  // namespace tenax::app
