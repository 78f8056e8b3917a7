// The executor on devices whose operations run later than their launch: ranks as threads, delegated links, real arithmetic.
#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "kernels/error.hpp"
#include "model/activation_offload.hpp"
#include "parallel/execution/schedule_executor.hpp"
#include "parallel/policies/schedule_policy.hpp"
#include "tests/kernels/async/stand_in.hpp"
#include "tests/parallel/execution/delegated_pipeline.hpp"

namespace tenax::parallel {
namespace {

constexpr double kNever_s = std::numeric_limits<double>::infinity();

std::unique_ptr<kernels::Device> on_cpu(int) { return kernels::create_cpu_device(); }
std::unique_ptr<kernels::Device> on_stand_in(int rank) {
  return kernels::test::create_stand_in({.jitter_us = 200, .seed = static_cast<std::uint64_t>(rank) + 1});
}

class Recorder : public ScheduleObserver {
 public:
  void on_pass(const PassRecord& record) override {
    EXPECT_LE(record.begin_s, record.end_s);
    EXPECT_LE(last_end_s_, record.begin_s) << "one pass after the other";
    last_end_s_ = record.end_s;
    ++passes;
  }
  void on_transfer(const TransferRecord& record) override {
    EXPECT_LE(record.begin_s, record.end_s);
    const bool is_receive =
        record.kind == TransferKind::receive_activation || record.kind == TransferKind::receive_gradient;
    EXPECT_EQ(record.prompt && record.started_s.has_value(), is_receive);
    ++transfers;
  }
  int passes = 0, transfers = 0;

 private:
  double last_end_s_ = 0;
};

/// Two steps of a schedule; what each stage has in the end. `bodies`: how many activations a device holds, the others are on
/// the host; 0: all.
std::vector<std::vector<float>> outcome_of(const PipelineSchedule& schedule, int microbatches,
                                           const MakeDevice& make_device, ExecutorOptions options,
                                           int bodies) {
  const int stages = schedule.stages();
  const auto slots_of = [&](int stage) { return peak_slots(schedule, stage); };
  const auto bodies_of = [&](int stage) { return bodies > 0 ? bodies : slots_of(stage); };
  auto ranks = make_pipeline(stages, microbatches, kPatience_s, make_device, bodies_of);
  std::vector<std::vector<float>> outcome(static_cast<std::size_t>(stages));
  std::vector<std::thread> threads;
  for (int r = 0; r < stages; ++r)
    threads.emplace_back([&, r] {
      PipelineRank& rank = ranks[static_cast<std::size_t>(r)];
      const auto& row = schedule.ops_of_stage[static_cast<std::size_t>(r)];
      ExecutorOptions own = options;
      own.slots = std::max(slots_of(r), bodies_of(r));
      std::vector<int> order;
      for (const PipelineOp& op : row) order.push_back(op.microbatch);
      std::unique_ptr<model::ActivationOffload> offload;
      if (bodies > 0)
        offload = std::make_unique<model::ActivationOffload>(*rank.stage, *rank.device, own.slots, bodies);
      model::PipelineStage& stage = offload ? static_cast<model::PipelineStage&>(*offload) : *rank.stage;
      ScheduleExecutor executor(stage, *rank.device, rank.neighbours(), row, own);
      Recorder recorder;
      if (offload) offload->begin(order);
      executor.run();
      executor.report(recorder);
      EXPECT_EQ(recorder.passes, static_cast<int>(row.size()));
      EXPECT_EQ(recorder.transfers, microbatches * ((r > 0 ? 2 : 0) + (r + 1 < stages ? 2 : 0)));
      if (offload) offload->begin(order);
      executor.run();
      outcome[static_cast<std::size_t>(r)] = rank.stage->outcome();
      if (offload) {
        EXPECT_EQ(rank.stage->adopted() > 0, slots_of(r) > bodies);
      }
    });
  for (std::thread& thread : threads) thread.join();
  return outcome;
}

struct Case {
  const char* policy;
  int stages, microbatches;
  bool bends;
  int launch_ahead;
  int bodies = 0;
};

class AsynchronousExecutor : public testing::TestWithParam<Case> {};

TEST_P(AsynchronousExecutor, computes_bit_for_bit_what_the_cpu_does) {
  const Case c = GetParam();
  const PipelineSchedule schedule =
      plan_schedule(policy_of_name(c.policy), c.microbatches, PipelineCosts::uniform(c.stages, {1, 1, 1}));
  const ExecutorOptions options{1, kPatience_s, c.bends ? 0.0005 : kNever_s, c.launch_ahead, true};
  EXPECT_EQ(outcome_of(schedule, c.microbatches, on_stand_in, options, c.bodies),
            outcome_of(schedule, c.microbatches, on_cpu, {1, kPatience_s, kNever_s, 1}, 0));
}

INSTANTIATE_TEST_SUITE_P(Policies, AsynchronousExecutor,
                         testing::Values(Case{"gpipe", 1, 3, false, 1}, Case{"gpipe", 3, 5, false, 1},
                                         Case{"1f1b", 2, 1, false, 1}, Case{"1f1b", 3, 8, false, 0},
                                         Case{"1f1b", 3, 8, false, 1}, Case{"1f1b", 3, 8, false, 4},
                                         Case{"1f1b", 3, 8, true, 1}, Case{"zero_bubble", 3, 9, false, 1},
                                         Case{"zero_bubble", 4, 7, false, 2},
                                         Case{"zero_bubble", 3, 9, true, 1}, Case{"gpipe", 1, 6, false, 1, 2},
                                         Case{"gpipe", 3, 7, false, 1, 3}, Case{"1f1b", 4, 8, false, 1, 2},
                                         Case{"zero_bubble", 3, 9, false, 1, 2},
                                         Case{"zero_bubble", 3, 9, true, 1, 3}),
                         [](const auto& instance) {
                           const Case& c = instance.param;
                           return std::string(c.policy) + "_stages_" + std::to_string(c.stages) +
                                  "_microbatches_" + std::to_string(c.microbatches) + "_ahead_" +
                                  std::to_string(c.launch_ahead) + (c.bends ? "_bending" : "") +
                                  (c.bodies > 0 ? "_bodies_" + std::to_string(c.bodies) : "");
                         });

/// What the last of two stages makes of eight microbatches, forwards alone and in two slots.
std::vector<float> evaluation_of(const MakeDevice& make_device) {
  constexpr int kMicrobatches = 8;
  auto ranks = make_pipeline(2, kMicrobatches, kPatience_s, make_device, [](int) { return 2; });
  std::vector<PipelineOp> row;
  for (int m = 0; m < kMicrobatches; ++m) row.push_back({Pass::forward, m});
  std::vector<std::thread> threads;
  for (PipelineRank& rank : ranks)
    threads.emplace_back([&] {
      ScheduleExecutor(*rank.stage, *rank.device, rank.neighbours(), row, {2, kPatience_s, kNever_s, 3})
          .run();
    });
  for (std::thread& thread : threads) thread.join();
  return ranks[1].stage->outcome();
}

TEST(AsynchronousEvaluation, computes_bit_for_bit_what_the_cpu_does) {
  EXPECT_EQ(evaluation_of(on_stand_in), evaluation_of(on_cpu));
}

/// Two stages, two microbatches; each rank runs in a thread of its own when it is told to.
class TwoStages : public testing::Test {
 protected:
  void make(double deadline_s) {
    ranks = make_pipeline(2, 2, deadline_s, on_stand_in, [](int) { return 2; });
    options.deadline_s = deadline_s;
  }
  std::string run(std::size_t r) {
    PipelineRank& rank = ranks[r];
    ScheduleExecutor executor(*rank.stage, *rank.device, rank.neighbours(), row, options);
    try {
      executor.run();
    } catch (const kernels::Error& error) {
      return error.what();
    }
    return "no error";
  }
  bool launches(std::size_t r, int passes) {
    for (int i = 0; i < 6000 && ranks[r].stage->launched() < passes; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return ranks[r].stage->launched() == passes;
  }

  ExecutorOptions options{2, kPatience_s, kNever_s, 3, true};
  const std::vector<PipelineOp> row = {
      {Pass::forward, 0}, {Pass::forward, 1}, {Pass::backward, 0}, {Pass::backward, 1}};
  std::vector<PipelineRank> ranks;
};

TEST_F(TwoStages, the_last_launches_its_whole_row_before_any_message_comes) {
  make(kPatience_s);
  std::thread last([&] { EXPECT_EQ(run(1), "no error"); });
  EXPECT_TRUE(launches(1, 4));
  EXPECT_EQ(run(0), "no error");
  last.join();
  EXPECT_EQ(ranks[1].stage->outcome().size(), static_cast<std::size_t>(3 * ArithmeticStage::kCount));
}

TEST_F(TwoStages, no_more_is_launched_ahead_than_was_asked_for) {
  make(kPatience_s);
  options.launch_ahead = 1;
  std::thread last([&] { EXPECT_EQ(run(1), "no error"); });
  EXPECT_TRUE(launches(1, 2));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(ranks[1].stage->launched(), 2);
  EXPECT_EQ(run(0), "no error");
  last.join();
}

TEST_F(TwoStages, the_first_launches_while_its_device_is_held) {
  make(kPatience_s);
  const auto gate = ranks[0].device->create_flag();
  ranks[0].stage->stream().wait(*gate, 1);
  std::thread first([&] { EXPECT_EQ(run(0), "no error"); });
  EXPECT_TRUE(launches(0, 2));
  gate->set(1);
  EXPECT_EQ(run(1), "no error");
  first.join();
}

TEST_F(TwoStages, a_silent_neighbour_ends_in_an_error_that_names_it_and_lets_the_device_go) {
  make(0.3);
  const std::string message = run(1);
  EXPECT_NE(message.find("rank 0 (here)"), std::string::npos) << message;
  ranks[1].stage->stream().synchronize(kernels::Deadline::after_s(kPatience_s));
}

TEST_F(TwoStages, a_link_that_closes_under_a_waiting_device_ends_the_run_at_once) {
  make(kPatience_s);
  std::string message;
  std::thread last([&] { message = run(1); });
  EXPECT_TRUE(launches(1, 4));
  ranks[0].downstream.reset();
  last.join();
  EXPECT_NE(message.find("rank 0 (here) has closed it"), std::string::npos) << message;
  ranks[1].stage->stream().synchronize(kernels::Deadline::after_s(kPatience_s));
}

}  // namespace
}  // namespace tenax::parallel
