// The end of a lone rank's step on an asynchronous device: what the device decides there, launched op by op or as a graph,
// leaves the bits that the host's vote leaves on the CPU.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>

#include "comm/world.hpp"
#include "parallel/state/state_mirror.hpp"
#include "tests/kernels/async/stand_in.hpp"
#include "tests/parallel/state/small_table.hpp"

namespace tenax::parallel {
namespace {

using kernels::Deadline;
using kernels::DType;
using kernels::Tensor;

constexpr std::int64_t kLosses = 24;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Deadline soon() { return Deadline::after_s(60); }

/// What a step computes before its end.
struct Step {
  float gradient_factor = 1;
  float bad_gradient = 0;  ///< the last element, where it is not 0
  float bad_loss = 0;      ///< likewise
};

/// Alone in its groups; inputs are filled on the host.
class LoneRank {
 public:
  LoneRank(comm::World& world, std::unique_ptr<kernels::Device> on, DType compute, const Optimizer& optimizer,
           OptimizerHome home = OptimizerHome::device)
      : device(std::move(on)),
        stream(device->create_stream()),
        data(world.split_communicator("data", 0, 0, *device)),
        embedding(world.split_communicator("embedding", 0, 0, *device)),
        table(small_table()),
        state(table, compute, optimizer, *data, *embedding, *device, *stream, SumMemory::in_place, {}, home),
        mirror(state, *device, *stream),
        loss_memory(device->allocate(kLosses * sizeof(float))),
        losses(loss_memory->tensor(DType::f32, {kLosses})) {
    for (const OwnedState& owned : mirror.owned())
      for (std::int64_t i = 0; i < owned.count; ++i)
        owned.master.as<float>()[i] = std::sin(static_cast<float>(100 * owned.row + owned.row_begin + i));
    mirror.store(soon());
    state.publish_weights(soon());
  }
  void fill(const Step& step) {
    for (const OwnedState& owned : state.owned())
      upload(
          owned.gradient,
          [&](std::int64_t i) {
            return step.gradient_factor *
                   std::cos(static_cast<float>(10 * owned.row + 3 * (owned.row_begin + i)));
          },
          owned.row == 2 ? step.bad_gradient : 0);
    upload(
        losses, [](std::int64_t i) { return 5 + 0.1F * static_cast<float>(i); }, step.bad_loss);
  }
  /// Master weights, moments and what the model reads, bit for bit.
  std::vector<std::byte> bits() {
    mirror.fetch(soon());
    std::vector<std::byte> result;
    const auto append = [&](const Tensor& host) {
      result.insert(result.end(), host.raw().begin(), host.raw().end());
    };
    for (const OwnedState& owned : mirror.owned()) {
      append(owned.master);
      for (const Tensor& moment : owned.moments) append(moment);
    }
    const auto copy = device->allocate(state.weights().bytes(), kernels::MemoryKind::pinned_host);
    const Tensor weights = copy->tensor(state.weights().dtype, state.weights().shape);
    device->kernels().copy(*stream, state.weights(), weights);
    stream->synchronize(soon());
    append(weights);
    return result;
  }

  std::unique_ptr<kernels::Device> device;
  std::unique_ptr<kernels::Stream> stream;
  std::unique_ptr<comm::Communicator> data, embedding;
  model::ParameterTable table;
  TrainingState state;
  StateMirror mirror;
  std::unique_ptr<kernels::Buffer> loss_memory;
  Tensor losses;

 private:
  template <class Value>
  void upload(const Tensor& to, const Value& value, float last) {
    const auto pinned = device->allocate(to.bytes(), kernels::MemoryKind::pinned_host);
    const Tensor host = pinned->tensor(DType::f32, to.shape);
    for (std::int64_t i = 0; i < host.size(); ++i) host.as<float>()[i] = value(i);
    if (last != 0) host.as<float>()[host.size() - 1] = last;
    device->kernels().copy(*stream, host, to);
    stream->synchronize(soon());
  }
};

kernels::UpdateRule rule_of(std::int64_t step) {
  return {.learning_rate = 0.1 / static_cast<double>(step),
          .weight_decay = 0.1,
          .tokens = 8,
          .clip_grad = 0.5,
          .step = step};
}

/// As app/ does it for several ranks.
void end_step_by_vote(LoneRank& rank, std::int64_t number) {
  rank.state.start_sum_of_squares();
  const double squares = rank.state.squares(soon());
  double loss = 0;
  for (std::int64_t i = 0; i < kLosses; ++i) loss += static_cast<double>(rank.losses.as<float>()[i]);
  if (!std::isfinite(squares) || !std::isfinite(loss)) return;
  rank.state.start_update(rule_of(number), squares);
  rank.state.finish_update(soon());
}

class LoneUpdate : public testing::TestWithParam<std::tuple<DType, std::string>> {};

TEST_P(LoneUpdate, leaves_the_bits_of_a_vote_also_in_a_graph_and_where_steps_are_skipped) {
  const auto world = comm::create_thread_worlds(1, {60});
  const auto& [compute, name] = GetParam();
  const Optimizer& optimizer = optimizer_of_name(name);
  LoneRank voting(*world[0], kernels::create_cpu_device(), compute, optimizer);
  LoneRank plain(*world[0], kernels::test::create_stand_in({.jitter_us = 100}), compute, optimizer);
  LoneRank graphed(*world[0], kernels::test::create_stand_in({.jitter_us = 100}), compute, optimizer);
  LoneRank offloaded(*world[0], kernels::test::create_stand_in({.jitter_us = 100}), compute, optimizer,
                     OptimizerHome::host);
  graphed.stream->begin_capture();
  graphed.state.update_if_finite(graphed.losses);
  const auto graph = graphed.stream->end_capture();

  const std::vector<Step> steps{
      {}, {.gradient_factor = 1e-3F}, {.bad_gradient = kNaN},      {.bad_loss = kNaN},
      {}, {.bad_loss = -kInfinity},   {.bad_gradient = kInfinity}, {}};
  std::vector<std::byte> before = voting.bits();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i) + 1;
    for (LoneRank* rank : {&voting, &plain, &graphed, &offloaded}) rank->fill(steps[i]);
    end_step_by_vote(voting, number);
    plain.state.set_rule(rule_of(number));
    plain.state.update_if_finite(plain.losses);
    graphed.state.set_rule(rule_of(number));
    graphed.stream->launch(*graph);
    if (i % 2 == 0) offloaded.state.fetch_ahead();
    offloaded.state.set_rule(rule_of(number));
    offloaded.state.update_if_finite(offloaded.losses);
    const auto after = voting.bits();
    const bool skipped = steps[i].bad_gradient != 0 || steps[i].bad_loss != 0;
    EXPECT_EQ(after == before, skipped) << "step " << number;
    EXPECT_EQ(plain.bits(), after) << "step " << number;
    EXPECT_EQ(graphed.bits(), after) << "step " << number;
    EXPECT_EQ(offloaded.bits(), after) << "step " << number;
    if (!skipped) {
      EXPECT_EQ(graphed.state.squares(soon()), voting.state.squares(soon())) << "step " << number;
    }
    before = after;
  }
}

INSTANTIATE_TEST_SUITE_P(, LoneUpdate,
                         testing::Combine(testing::Values(DType::f32, DType::bf16),
                                          testing::Values("adamw", "lion")),
                         [](const auto& parameter) {
                           return std::string(kernels::name_of(std::get<0>(parameter.param))) + "_" +
                                  std::get<1>(parameter.param);
                         });

}  // namespace
}  // namespace tenax::parallel
