// The executor against a stage that checks what it is given, ranks as threads.
#include "parallel/execution/schedule_executor.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <thread>

#include "comm/world.hpp"
#include "parallel/policies/schedule_policy.hpp"

namespace tenax::parallel {
namespace {

using kernels::DType;
using kernels::Tensor;

constexpr std::int64_t kElements = 5000;

/// F adds 1 to the activation, B doubles the gradient; both check that memory holds the microbatch it should.
class CountingStage : public model::PipelineStage {
 public:
  CountingStage(kernels::Device& device, int stage, int stages, int slots)
      : stage_(stage),
        stages_(stages),
        stream_(device.create_stream()),
        microbatch_(static_cast<std::size_t>(slots)) {
    for (int i = 0; i < 2 * slots; ++i) memory_.push_back(device.allocate(kElements * sizeof(float)));
  }

  kernels::Stream& stream() override { return *stream_; }
  Tensor input(int slot) override { return stage_ == 0 ? Tensor{} : memory(2 * slot); }
  Tensor output(int slot) override { return stage_ + 1 == stages_ ? Tensor{} : memory(2 * slot + 1); }

  void forward(int slot, int microbatch, model::ForwardGradients gradients) override {
    forwards_.push_back({microbatch, gradients});
    microbatch_[static_cast<std::size_t>(slot)] = microbatch;
    if (stage_ > 0) expect(memory(2 * slot), static_cast<float>(100 * microbatch + stage_), "activation");
    fill(memory(2 * slot + 1), static_cast<float>(100 * microbatch + stage_ + 1));
  }
  void backward_input(int slot) override {
    const int m = microbatch_[static_cast<std::size_t>(slot)];
    if (stage_ + 1 < stages_)
      expect(memory(2 * slot + 1), static_cast<float>(-100 * m - stage_ - 1), "gradient");
    fill(memory(2 * slot), static_cast<float>(-100 * m - stage_));
  }
  void backward_weight(int slot, bool accumulate, const model::GradientsReady& ready) override {
    EXPECT_EQ(accumulate, !order_.empty()) << "only the first weight pass overwrites";
    order_.push_back(microbatch_[static_cast<std::size_t>(slot)]);
    if (ready) ready(0, 1);
  }
  const std::vector<int>& weight_order() const { return order_; }
  using Forward = std::pair<int, model::ForwardGradients>;
  const std::vector<Forward>& forwards() const { return forwards_; }

 private:
  Tensor memory(int index) {
    return memory_[static_cast<std::size_t>(index)]->tensor(DType::f32, {kElements});
  }
  void fill(const Tensor& tensor, float value) { std::fill_n(tensor.as<float>(), kElements, value); }
  void expect(const Tensor& tensor, float value, const char* what) {
    for (std::int64_t i = 0; i < kElements; ++i)
      ASSERT_EQ(tensor.as<float>()[i], value) << what << " of stage " << stage_ << ", element " << i;
  }

  int stage_, stages_;
  std::unique_ptr<kernels::Stream> stream_;
  std::vector<int> microbatch_;
  std::vector<int> order_;
  std::vector<Forward> forwards_;
  std::vector<std::unique_ptr<kernels::Buffer>> memory_;
};

class CountingObserver : public ScheduleObserver {
 public:
  void on_pass(const PassRecord& record) override {
    EXPECT_LE(record.begin_s, record.end_s);
    ++passes;
  }
  void on_transfer(const TransferRecord& record) override {
    EXPECT_LE(record.begin_s, record.end_s);
    EXPECT_EQ(record.bytes, kElements * sizeof(float));
    EXPECT_TRUE(!record.absent_s || (record.prompt && *record.absent_s <= record.end_s));
    ++transfers;
  }
  int passes = 0, transfers = 0;
};

PipelineNeighbours neighbours_of(comm::Endpoint& endpoint) {
  const int p = endpoint.rank();
  return {p > 0 ? &endpoint.link(p - 1) : nullptr, p + 1 < endpoint.size() ? &endpoint.link(p + 1) : nullptr};
}

void run_schedule(const PipelineSchedule& schedule, int microbatches, double patience_s) {
  const int stages = schedule.stages();
  const auto worlds = comm::create_thread_worlds(stages, {60});
  std::vector<std::thread> threads;
  for (int stage = 0; stage < stages; ++stage)
    threads.emplace_back([&, stage] {
      const auto device = kernels::create_cpu_device();
      const auto endpoint = worlds[static_cast<std::size_t>(stage)]->split_endpoint(0, stage);
      const int slots = peak_slots(schedule, stage);
      const auto& row = schedule.ops_of_stage[static_cast<std::size_t>(stage)];
      for (int step = 0; step < 2; ++step) {
        CountingStage counting(*device, stage, stages, slots);
        ScheduleExecutor executor(counting, *device, neighbours_of(*endpoint), row, {slots, 60, patience_s});
        int ready = 0;
        CountingObserver observer;
        executor.run([&](int, int) { ++ready; });
        executor.report(observer);
        EXPECT_EQ(ready, 1) << "gradients are final once, in the last weight pass";
        EXPECT_EQ(observer.passes, static_cast<int>(row.size()));
        EXPECT_EQ(observer.transfers, microbatches * ((stage > 0 ? 2 : 0) + (stage + 1 < stages ? 2 : 0)));
        std::vector<int> in_order;
        std::vector<CountingStage::Forward> forwards;
        for (int m = 0; m < microbatches; ++m) {
          in_order.push_back(m);
          forwards.push_back({m, m > 0 ? model::ForwardGradients::add : model::ForwardGradients::overwrite});
        }
        EXPECT_EQ(counting.weight_order(), in_order);
        EXPECT_EQ(counting.forwards(), forwards) << "a head's gradients add up in microbatch order, too";
      }
    });
  for (std::thread& thread : threads) thread.join();
}

struct Case {
  const char* policy;
  int stages, microbatches;
};

class ScheduleExecutorRuns : public testing::TestWithParam<Case> {};

TEST_P(ScheduleExecutorRuns, every_pass_finds_its_own_microbatch) {
  const Case c = GetParam();
  const PipelineCosts costs = PipelineCosts::uniform(c.stages, {1, 1, 1});
  run_schedule(plan_schedule(policy_of_name(c.policy), c.microbatches, costs), c.microbatches,
               std::numeric_limits<double>::infinity());
}

TEST_P(ScheduleExecutorRuns, bending_rows_find_theirs_too_and_keep_the_weight_order) {
  const Case c = GetParam();
  const PipelineCosts costs = PipelineCosts::uniform(c.stages, {1, 1, 1});
  run_schedule(plan_schedule(policy_of_name(c.policy), c.microbatches, costs), c.microbatches, 0);
}

INSTANTIATE_TEST_SUITE_P(Policies, ScheduleExecutorRuns,
                         testing::Values(Case{"gpipe", 1, 3}, Case{"gpipe", 3, 5}, Case{"1f1b", 2, 1},
                                         Case{"1f1b", 4, 9}, Case{"zero_bubble", 1, 4},
                                         Case{"zero_bubble", 2, 7}, Case{"zero_bubble", 4, 12},
                                         Case{"zero_bubble", 5, 3}),
                         [](const auto& instance) {
                           return std::string(instance.param.policy) + "_stages_" +
                                  std::to_string(instance.param.stages) + "_microbatches_" +
                                  std::to_string(instance.param.microbatches);
                         });

/// A link whose messages are there at once, but for `late` ones, which are when they are waited for.
class LateLink final : public comm::Link {
 public:
  LateLink(std::function<float(comm::Tag)> value_of_tag, std::set<comm::Tag> late)
      : value_of_tag_(std::move(value_of_tag)), late_(std::move(late)) {}
  comm::TransferPtr send(kernels::Stream&, const Tensor&, comm::Tag tag) override {
    return std::make_unique<Late>(*this, tag);
  }
  comm::TransferPtr receive(kernels::Stream&, const Tensor& tensor, comm::Tag tag) override {
    std::fill_n(tensor.as<float>(), kElements, value_of_tag_(tag));
    return std::make_unique<Late>(*this, tag);
  }
  std::string describe() const override { return "a late link"; }
  std::function<void(comm::Tag)> on_wait = [](comm::Tag) {};

 private:
  class Late final : public comm::Transfer {
   public:
    Late(LateLink& link, comm::Tag tag) : link_(link), tag_(tag) {}
    bool done() override { return !link_.late_.contains(tag_); }
    void wait(kernels::Deadline) override {
      if (!done()) link_.on_wait(tag_);
      link_.late_.erase(tag_);
    }

   private:
    LateLink& link_;
    comm::Tag tag_;
  };
  std::function<float(comm::Tag)> value_of_tag_;
  std::set<comm::Tag> late_;
};

TEST(ScheduleExecutor, presses_only_the_link_that_an_op_waits_for_when_its_deadline_is_over) {
  const auto device = kernels::create_cpu_device();
  CountingStage stage(*device, 1, 3, 2);
  LateLink upstream([](comm::Tag tag) { return 100.0F * static_cast<float>(tag / 2) + 1; }, {1});
  LateLink downstream([](comm::Tag tag) { return -100.0F * static_cast<float>(tag / 2) - 2; }, {3});
  std::vector<std::string> waits;
  const auto note = [&](const char* link) {
    return [&waits, &stage, link](comm::Tag tag) {
      waits.push_back(link + std::to_string(tag) + " after W" + std::to_string(stage.weight_order().back()));
    };
  };
  upstream.on_wait = note("upstream ");
  downstream.on_wait = note("downstream ");
  const std::vector<PipelineOp> row = {{Pass::forward, 0},        {Pass::forward, 1},
                                       {Pass::backward_input, 0}, {Pass::backward_weight, 0},
                                       {Pass::backward_input, 1}, {Pass::backward_weight, 1}};
  ScheduleExecutor executor(stage, *device, {&upstream, &downstream}, row,
                            {2, 0.05, std::numeric_limits<double>::infinity()});
  executor.run();
  // The gradient of microbatch 1; at the end, what was sent of microbatch 0.
  EXPECT_EQ(waits, (std::vector<std::string>{"downstream 3 after W0", "upstream 1 after W1"}));
}

/// Sends are done at once; gradients of stage 1 come some time after they were asked for.
class DelayedLink final : public comm::Link {
 public:
  explicit DelayedLink(double delay_s) : delay_s_(delay_s) {}
  comm::TransferPtr send(kernels::Stream&, const Tensor&, comm::Tag) override {
    return std::make_unique<Due>(kernels::Deadline::after_s(0));
  }
  comm::TransferPtr receive(kernels::Stream&, const Tensor& tensor, comm::Tag tag) override {
    std::fill_n(tensor.as<float>(), kElements, -100.0F * static_cast<float>(tag / 2) - 1);
    return std::make_unique<Due>(kernels::Deadline::after_s(delay_s_));
  }
  std::string describe() const override { return "a delayed link"; }

 private:
  class Due final : public comm::Transfer {
   public:
    explicit Due(kernels::Deadline due) : due_(due) {}
    bool done() override { return due_.expired(); }
    void wait(kernels::Deadline) override { std::this_thread::sleep_until(due_.when()); }

   private:
    kernels::Deadline due_;
  };
  double delay_s_;
};

/// The ops in the order in which they ran.
std::string order_of_last_run(ScheduleExecutor& executor) {
  class Order : public ScheduleObserver {
   public:
    void on_pass(const PassRecord& record) override { text += to_string(record.op) + " "; }
    void on_transfer(const TransferRecord&) override {}
    std::string text;
  };
  Order order;
  executor.report(order);
  return order.text;
}

/// Of stage 0 of 2.
std::string order_of_run(const std::vector<PipelineOp>& row, double delay_s, ExecutorOptions options) {
  const auto device = kernels::create_cpu_device();
  CountingStage stage(*device, 0, 2, options.slots);
  DelayedLink downstream(delay_s);
  ScheduleExecutor executor(stage, *device, {nullptr, &downstream}, row, std::move(options));
  executor.run();
  return order_of_last_run(executor);
}

TEST(ScheduleExecutor, bends_where_an_input_is_late_and_not_where_the_plan_waits_for_it) {
  const std::vector<PipelineOp> row = {{Pass::forward, 0},        {Pass::backward_input, 0},
                                       {Pass::forward, 1},        {Pass::backward_weight, 0},
                                       {Pass::backward_input, 1}, {Pass::backward_weight, 1}};
  const std::string planned = "F0 B0 F1 W0 B1 W1 ", bent = "F0 F1 B0 W0 B1 W1 ";
  ExecutorOptions options{.slots = 2, .deadline_s = 60, .patience_s = 0.02};
  EXPECT_EQ(order_of_run(row, 0.5, options), bent);
  options.idle_before_s = {0, 30, 0, 0, 30, 0};
  EXPECT_EQ(order_of_run(row, 0.1, options), planned);
  options.idle_before_s = {0, 0.05, 0, 0, 0.05, 0};
  EXPECT_EQ(order_of_run(row, 0.5, options), bent);
}

TEST(ScheduleExecutor, learns_between_runs_how_long_the_plan_waits_for_an_input) {
  const std::vector<PipelineOp> row = {
      {Pass::forward, 0}, {Pass::backward_input, 0}, {Pass::forward, 1}, {Pass::backward_input, 1}};
  const auto device = kernels::create_cpu_device();
  CountingStage stage(*device, 0, 2, 2);
  DelayedLink downstream(0.5);
  ScheduleExecutor executor(stage, *device, {nullptr, &downstream}, row,
                            {.slots = 2, .deadline_s = 60, .patience_s = 0.02});
  const auto order_with = [&](double patience_s, std::vector<double> idle_before_s) {
    executor.expect_inputs(patience_s, std::move(idle_before_s));
    executor.run();
    return order_of_last_run(executor);
  };
  const std::string planned = "F0 B0 F1 B1 ", bent = "F0 F1 B0 B1 ";
  EXPECT_EQ(order_with(0.02, {}), bent);
  EXPECT_EQ(order_with(0.02, {0, 30, 0, 30}), planned);
  EXPECT_EQ(order_with(0.02, {0, 0.01, 0, 0.01}), bent);
  EXPECT_EQ(order_with(ExecutorOptions{}.patience_s, {}), planned) << "runs as it stands";
}

TEST(ScheduleExecutor, a_bent_row_holds_no_more_than_the_limit_whatever_slots_there_are) {
  const std::vector<PipelineOp> row = {
      {Pass::forward, 0},         {Pass::forward, 1},        {Pass::backward_input, 0},
      {Pass::backward_weight, 0}, {Pass::forward, 2},        {Pass::backward_input, 1},
      {Pass::backward_weight, 1}, {Pass::backward_input, 2}, {Pass::backward_weight, 2}};
  ExecutorOptions options{.slots = 3, .deadline_s = 60, .patience_s = 0.02};
  EXPECT_EQ(order_of_run(row, 0.3, options), "F0 F1 F2 B0 W0 B1 W1 B2 W2 ");
  options.most_live = 2;
  EXPECT_EQ(order_of_run(row, 0.3, options), "F0 F1 B0 W0 F2 B1 W1 B2 W2 ");
}

TEST(ScheduleExecutor, forward_passes_alone_form_no_gradients) {
  const auto device = kernels::create_cpu_device();
  CountingStage stage(*device, 0, 1, 1);
  ScheduleExecutor executor(stage, *device, {}, {{Pass::forward, 0}, {Pass::forward, 1}}, {1, 60, 60});
  executor.run();
  EXPECT_EQ(stage.forwards(), (std::vector<CountingStage::Forward>{{0, model::ForwardGradients::none},
                                                                   {1, model::ForwardGradients::none}}));
}

TEST(ScheduleExecutor, a_silent_neighbour_ends_in_an_error_that_names_it) {
  const auto worlds = comm::create_thread_worlds(2, {60});
  const auto device = kernels::create_cpu_device();
  std::unique_ptr<comm::Endpoint> silent;
  std::thread other([&] { silent = worlds[0]->split_endpoint(0, 0); });
  const auto endpoint = worlds[1]->split_endpoint(0, 1);
  other.join();
  CountingStage stage(*device, 1, 2, 1);
  const std::vector<PipelineOp> row = {{Pass::forward, 0}, {Pass::backward, 0}};
  ScheduleExecutor executor(stage, *device, neighbours_of(*endpoint), row, {1, 0.2, 60});
  try {
    executor.run();
    FAIL() << "no error";
  } catch (const kernels::Error& error) {
    EXPECT_NE(std::string(error.what()).find("rank 0"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tenax::parallel
