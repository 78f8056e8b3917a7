#include "parallel/schedule/pipeline_schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "parallel/planner/baselines.hpp"
#include "tests/parallel/expect_error.hpp"

namespace tenax::parallel {
namespace {

/// "F0 F1 B0 W0 BW1", one string a stage.
PipelineSchedule schedule_of(std::initializer_list<std::string> stages) {
  PipelineSchedule schedule;
  for (std::string stage : stages) {
    auto& ops = schedule.ops_of_stage.emplace_back();
    for (stage += ' '; !stage.empty(); stage.erase(0, stage.find(' ') + 1)) {
      const std::string word = stage.substr(0, stage.find(' '));
      const std::size_t digits = word.find_first_of("0123456789");
      const std::map<std::string, Pass> pass_of_code = {{"F", Pass::forward},
                                                        {"B", Pass::backward_input},
                                                        {"W", Pass::backward_weight},
                                                        {"BW", Pass::backward}};
      ops.push_back({pass_of_code.at(word.substr(0, digits)), std::stoi(word.substr(digits))});
    }
  }
  return schedule;
}

void expect_refused(const PipelineSchedule& schedule, int microbatches,
                    std::initializer_list<std::string> parts, const ActivationLimit& limit = {}) {
  expect_error(kernels::Scope::operation, parts, [&] { validate(schedule, microbatches, limit); });
}

TEST(Validate, accepts_split_and_fused_backwards_side_by_side) {
  validate(schedule_of({"F0 F1 F2 B0 W0 BW1 B2 W2"}), 3);
  validate(schedule_of({"F0 F1 B0 W0 BW1", "F0 BW0 F1 B1 W1"}), 2);
}

TEST(Validate, names_stage_and_op_of_each_fault) {
  expect_refused(schedule_of({"F0 BW0", "F0"}), 1, {"stage 1", "B0 is missing"});
  expect_refused(schedule_of({"F0 B0"}), 1, {"stage 0", "W0 is missing"});
  expect_refused(schedule_of({"F0 BW0"}), 2, {"stage 0", "F1 is missing"});
  expect_refused(schedule_of({"F0 F0 BW0"}), 1, {"stage 0", "F0 is repeated"});
  expect_refused(schedule_of({"F0 B0 B0 W0"}), 1, {"stage 0", "B0 repeats"});
  expect_refused(schedule_of({"F0 BW0 W0"}), 1, {"stage 0", "W0 repeats"});
  expect_refused(schedule_of({"F0 B0 W0 BW0"}), 1, {"stage 0", "BW0 repeats"});
  expect_refused(schedule_of({"F0 BW0", "BW0 F0"}), 1, {"stage 1", "BW0 comes before its F"});
  expect_refused(schedule_of({"F0 W0 B0"}), 1, {"stage 0", "W0 comes before its B"});
  expect_refused(schedule_of({"F0 BW0 F1 BW1"}), 1, {"stage 0", "F1 is not among the 1 microbatches"});
  expect_refused({{{{Pass::forward, -1}}}}, 1, {"stage 0", "F-1"});
}

TEST(Validate, wants_forward_passes_in_microbatch_order) {
  expect_refused(schedule_of({"F1 F0 B0 W0 BW1"}), 2, {"stage 0", "F1", "F0 is due"});
  validate(schedule_of({"F1 F0 B0 W0 BW1"}), 2, {}, WeightOrder::any);
}

TEST(Validate, wants_weight_gradients_in_microbatch_order) {
  validate(schedule_of({"F0 F1 B1 B0 W0 W1"}), 2);
  expect_refused(schedule_of({"F0 F1 B0 B1 W1 W0"}), 2, {"stage 0", "W1", "microbatch 0 is due"});
  expect_refused(schedule_of({"F0 F1 BW1 BW0"}), 2, {"stage 0", "BW1", "microbatch 0 is due"});
}

TEST(Validate, finds_stages_that_wait_for_each_other) {
  // Stage 0 wants the gradient of 0 before it sends F1, stage 1 wants F1 first.
  expect_refused(schedule_of({"F0 BW0 F1 BW1", "F0 F1 BW0 BW1"}), 2,
                 {"deadlock", "stage 0 at BW0 waits for the backward of microbatch 0 of stage 1",
                  "stage 1 at F1 waits for F1 of stage 0"});
}

TEST(Validate, holds_activations_from_f_to_the_end_of_w) {
  const PipelineSchedule schedule = schedule_of({"F0 F1 B0 F2 B1 W0 W1 B2 W2"});
  validate(schedule, 3, {.microbatches_of_stage = {3}});
  expect_refused(schedule, 3, {"stage 0", "limit of 2"}, {.microbatches_of_stage = {2}});
  // Where B gives back the activation, two are live at most; with half of it, two and a half.
  validate(schedule, 3, {.microbatches_of_stage = {2}, .weight_share = 0});
  expect_refused(schedule, 3, {"limit of 2"}, {.microbatches_of_stage = {2}, .weight_share = 0.5});
  EXPECT_EQ(peak_activations(schedule, 0, 0.5), 2.5);
}

/// Random valid order of one stage: any op whose predecessors are there, F's and W's in order.
std::vector<PipelineOp> random_stage(std::mt19937& random, int microbatches) {
  std::vector<PipelineOp> ops;
  std::vector<int> state(static_cast<std::size_t>(microbatches), 0);  // passes done
  int forwards = 0, weights = 0;
  while (weights < microbatches) {
    const int microbatch = static_cast<int>(random() % static_cast<unsigned>(microbatches));
    int& done = state[static_cast<std::size_t>(microbatch)];
    if (done == 3 || (done == 0 && microbatch != forwards) || (done == 2 && microbatch != weights)) continue;
    forwards += done == 0;
    const bool fused = done == 1 && microbatch == weights && random() % 2;
    const Pass next[] = {Pass::forward, Pass::backward_input, Pass::backward_weight};
    ops.push_back({fused ? Pass::backward : next[done], microbatch});
    done += fused ? 2 : 1;
    weights += done == 3;
  }
  return ops;
}

TEST(PeakSlots, counts_what_is_live_from_f_to_the_weight_pass) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const int microbatches = 1 + static_cast<int>(random() % 12);
    const PipelineSchedule schedule{{random_stage(random, microbatches)}};
    validate(schedule, microbatches);
    std::set<int> live;
    std::size_t most = 0;
    for (const PipelineOp& op : schedule.ops_of_stage[0]) {
      live.insert(op.microbatch);
      most = std::max(most, live.size());
      if (gives_weight_gradient(op.pass)) live.erase(op.microbatch);
    }
    EXPECT_EQ(peak_slots(schedule, 0), static_cast<int>(most));
  }
}

// A valid schedule with one op dropped, doubled or moved ahead of what it needs must be refused.
TEST(Validate, refuses_random_damage) {
  std::mt19937 random(9);
  const auto costs = PipelineCosts::uniform(3, {1, 1, 1});
  for (int round = 0; round < 200; ++round) {
    PipelineSchedule schedule = plan_zero_bubble(5, costs);
    auto& ops = schedule.ops_of_stage[random() % 3];
    const auto victim = ops.begin() + static_cast<std::ptrdiff_t>(random() % ops.size());
    if (round % 3 == 0)
      ops.erase(victim);
    else if (round % 3 == 1)
      ops.insert(victim, *victim);
    else if (victim->pass == Pass::forward)
      continue;
    else
      std::rotate(ops.begin(), victim, victim + 1);
    EXPECT_THROW(validate(schedule, 5), kernels::Error);
  }
}

}  // namespace
}  // namespace tenax::parallel
