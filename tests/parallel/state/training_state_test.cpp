// ZeRO-1 state and bucketed reduction, ranks as threads: every layout must do what one rank does.
#include "parallel/state/training_state.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <utility>

#include "comm/world.hpp"
#include "kernels/error.hpp"
#include "parallel/execution/gradient_reducer.hpp"
#include "tests/parallel/state/small_table.hpp"

namespace tenax::parallel {
namespace {

using kernels::Deadline;
using kernels::DType;

constexpr double kDeadline_s = 60;

/// What a rank holds, and helpers to fill and read rows.
class Rank {
 public:
  Rank(comm::World& world, DType compute, const std::string& optimizer = "adamw")
      : device(kernels::create_cpu_device()),
        stream(device->create_stream()),
        data(world.split_communicator("data", 0, world.rank(), *device)),
        alone(world.split_communicator("embedding", world.rank(), 0, *device)),
        table(small_table()),
        state(table, compute, optimizer_of_name(optimizer), *data, *alone, *device, *stream) {
    for (const OwnedState& owned : state.owned())
      for (std::int64_t i = 0; i < owned.count; ++i)
        owned.master.as<float>()[i] = weight(owned.row, owned.row_begin + i);
    state.publish_weights(Deadline::after_s(kDeadline_s));
  }
  static float weight(int row, std::int64_t i) { return std::sin(static_cast<float>(100 * row + i)); }
  /// Summed over `ranks`: gradient(row, i).
  void set_gradients(int rank, int ranks) {
    const float share = static_cast<float>(rank + 1) / static_cast<float>(ranks * (ranks + 1) / 2);
    for (int row = 0; row < static_cast<int>(table.rows().size()); ++row)
      for (std::int64_t i = 0; i < table.row(row).size(); ++i)
        table.view(state.gradients(), row).as<float>()[i] = share * gradient(row, i);
  }
  static float gradient(int row, std::int64_t i) { return std::cos(static_cast<float>(10 * row + 3 * i)); }
  void reduce() {
    GradientReducer reducer(state.shards(), state.gradients(), *data, *stream);
    reducer.begin_step();
    for (int row = static_cast<int>(table.rows().size()); row-- > 0;) reducer.rows_ready(row, row + 1);
    reducer.finish(Deadline::after_s(kDeadline_s));
  }

  std::unique_ptr<kernels::Device> device;
  std::unique_ptr<kernels::Stream> stream;
  std::unique_ptr<comm::Communicator> data, alone;
  model::ParameterTable table;
  TrainingState state;
};

void on_ranks(int size, const std::function<void(comm::World&)>& body) {
  const auto worlds = comm::create_thread_worlds(size, {kDeadline_s});
  std::vector<std::thread> threads;
  for (const auto& world : worlds) threads.emplace_back([&body, &world] { body(*world); });
  for (std::thread& thread : threads) thread.join();
}

class TrainingStateOn : public testing::TestWithParam<int> {};

TEST_P(TrainingStateOn, ranks_own_every_element_once) {
  std::vector<std::vector<int>> owners;
  const model::ParameterTable table = small_table();
  for (const model::ParameterRow& row : table.rows())
    owners.emplace_back(static_cast<std::size_t>(row.size()), 0);
  std::mutex mutex;
  on_ranks(GetParam(), [&](comm::World& world) {
    const Rank rank(world, DType::f32);
    const std::scoped_lock lock(mutex);
    for (const OwnedState& owned : rank.state.owned())
      for (std::int64_t i = 0; i < owned.count; ++i)
        ++owners[static_cast<std::size_t>(owned.row)][static_cast<std::size_t>(owned.row_begin + i)];
  });
  for (const auto& row : owners) EXPECT_EQ(row, std::vector<int>(row.size(), 1));
}

TEST_P(TrainingStateOn, the_norm_is_that_of_the_summed_gradient) {
  double expected = 0;
  const auto table = small_table();
  for (int row = 0; row < static_cast<int>(table.rows().size()); ++row)
    for (std::int64_t i = 0; i < table.row(row).size(); ++i) expected += std::pow(Rank::gradient(row, i), 2);
  std::mutex mutex;
  double sum = 0;
  on_ranks(GetParam(), [&](comm::World& world) {
    Rank rank(world, DType::f32);
    rank.set_gradients(world.rank(), world.size());
    rank.reduce();
    rank.state.start_sum_of_squares();
    const double mine = rank.state.squares(Deadline::after_s(kDeadline_s));
    const std::scoped_lock lock(mutex);
    sum += mine;
  });
  EXPECT_NEAR(sum, expected, 1e-4 * expected);
}

// One element after `steps` updates by a constant gradient, in fp64: AdamW as torch.optim has it, and Lion as its paper.
using Reference = double (*)(double weight, double gradient, double decay, const kernels::UpdateRule& rule,
                             int steps);

double adamw(double weight, double gradient, double decay, const kernels::UpdateRule& s, int steps) {
  double m = 0, v = 0;
  for (int t = 1; t <= steps; ++t) {
    m = s.beta1 * m + (1 - s.beta1) * gradient;
    v = s.beta2 * v + (1 - s.beta2) * gradient * gradient;
    weight -= s.learning_rate * decay * weight;
    const double m_hat = m / (1 - std::pow(s.beta1, t)), v_hat = v / (1 - std::pow(s.beta2, t));
    weight -= s.learning_rate * m_hat / (std::sqrt(v_hat) + s.epsilon);
  }
  return weight;
}

double lion(double weight, double gradient, double decay, const kernels::UpdateRule& s, int steps) {
  for (int t = 1; t <= steps; ++t) weight -= s.learning_rate * (std::copysign(1, gradient) + decay * weight);
  return weight;
}

TEST_P(TrainingStateOn, updates_give_every_rank_the_weights_of_the_optimizer) {
  constexpr int kSteps = 3;
  const kernels::UpdateRule rule{.learning_rate = 0.01, .weight_decay = 0.1, .tokens = 2};
  const std::pair<std::string, Reference> optimizers[] = {{"adamw", &adamw}, {"lion", &lion}};
  for (const auto& [name, reference] : optimizers)
    for (const DType compute : {DType::f32, DType::bf16}) {
      on_ranks(GetParam(), [&](comm::World& world) {
        Rank rank(world, compute, name);
        for (int step = 1; step <= kSteps; ++step) {
          rank.set_gradients(world.rank(), world.size());
          rank.reduce();
          kernels::UpdateRule now = rule;
          now.step = step;
          rank.state.start_update(now, 1.0);
          rank.state.finish_update(Deadline::after_s(kDeadline_s));
        }
        const double tolerance = compute == DType::f32 ? 2e-6 : 5e-3;
        const auto widened =
            rank.device->allocate(static_cast<std::size_t>(rank.state.weights().size()) * sizeof(float));
        const kernels::Tensor weights = widened->tensor(DType::f32, rank.state.weights().shape);
        rank.device->kernels().cast(*rank.stream, rank.state.weights(), weights);
        for (int row = 0; row < static_cast<int>(rank.table.rows().size()); ++row)
          for (std::int64_t i = 0; i < rank.table.row(row).size(); ++i)
            ASSERT_NEAR(rank.table.view(weights, row).as<float>()[i],
                        reference(Rank::weight(row, i), Rank::gradient(row, i) / rule.tokens,
                                  rank.table.row(row).decays() ? rule.weight_decay : 0.0, rule, kSteps),
                        tolerance)
                << name << ", " << rank.table.row(row).name << " element " << i;
      });
    }
}

TEST(Optimizers, are_found_by_name_and_say_what_their_moments_take) {
  EXPECT_EQ(optimizer_of_name("adamw").bytes_per_weight(DType::bf16), 8U);
  EXPECT_EQ(optimizer_of_name("lion").bytes_per_weight(DType::f32), 4U);
  EXPECT_EQ(optimizer_of_name("lion").bytes_per_weight(DType::f64), 8U);
  EXPECT_THROW(optimizer_of_name("sgd"), kernels::Error);
}

TEST(Optimizers, make_the_state_as_large_as_their_moments) {
  const model::ParameterTable table = small_table();
  const auto bytes = [&](DType compute, const char* name) {
    return TrainingState::plan_memory(TrainingState::plan_shards(table, compute, 1), compute,
                                      optimizer_of_name(name))
        .optimizer;
  };
  EXPECT_EQ(bytes(DType::f32, "lion") * 2, bytes(DType::f32, "adamw"));
  EXPECT_EQ(bytes(DType::bf16, "lion") * 3, bytes(DType::bf16, "adamw") * 2) << "with the masters";
}

TEST(StateReuse, is_of_gradients_and_of_weights_where_those_have_room_for_gradients) {
  const StateMemory fp32 = {.weights = 400, .gradients = 400, .optimizer = 80};
  const StateMemory bf16 = {.weights = 200, .gradients = 400, .optimizer = 120};
  const auto larger = [](StateMemory memory) {
    memory.weights += 1;
    memory.gradients += 1;
    return memory;
  };
  EXPECT_EQ(plan_reuse(fp32, fp32), StateReuse::both);
  EXPECT_EQ(plan_reuse(larger(fp32), fp32), StateReuse::both);
  EXPECT_EQ(plan_reuse(fp32, larger(fp32)), StateReuse::nothing);
  EXPECT_EQ(plan_reuse(bf16, bf16), StateReuse::gradients);
  EXPECT_EQ(plan_reuse(bf16, larger(bf16)), StateReuse::nothing);
}

TEST(StateReuse, gives_another_state_of_the_rank_what_is_planned_and_the_same_place_everything) {
  on_ranks(1, [](comm::World& world) {
    for (const DType compute : {DType::f32, DType::bf16}) {
      Rank rank(world, compute);
      const StateBuffers has = rank.state.buffers();
      const auto state_with = [&](const StateBuffers& given) {
        const TrainingState state(rank.table, compute, optimizer_of_name("adamw"), *rank.data, *rank.alone,
                                  *rank.device, *rank.stream, SumMemory::in_place, given);
        EXPECT_EQ(state.weights().data, state.buffers().weights->data());
        EXPECT_EQ(state.gradients().data, state.buffers().gradients->data());
        return state.buffers();
      };
      const StateBuffers same = state_with(has);
      EXPECT_EQ(same.weights, has.weights);
      EXPECT_EQ(same.gradients, has.gradients);
      EXPECT_EQ(same.optimizer, has.optimizer);
      const StateBuffers next = state_with(rank.state.buffers_for(
          TrainingState::plan_memory(rank.state.shards(), compute, optimizer_of_name("adamw"))));
      EXPECT_NE(next.weights, has.weights);
      EXPECT_EQ(next.weights == has.gradients, compute == DType::f32);
      EXPECT_EQ(next.gradients, compute == DType::f32 ? has.weights : has.gradients);
      EXPECT_NE(next.optimizer, has.optimizer);
    }
  });
}

TEST(StateReuse, puts_the_optimizer_of_another_place_into_spare_memory_that_is_large_enough) {
  on_ranks(1, [](comm::World& world) {
    Rank rank(world, DType::f32);
    const StateMemory needs =
        TrainingState::plan_memory(rank.state.shards(), DType::f32, optimizer_of_name("adamw"));
    for (const bool is_enough : {true, false}) {
      StateBuffers given = rank.state.buffers();
      given.spare = rank.device->allocate(is_enough ? needs.optimizer : needs.optimizer / 2);
      const TrainingState state(rank.table, DType::f32, optimizer_of_name("adamw"), *rank.data, *rank.alone,
                                *rank.device, *rank.stream, SumMemory::in_place, given);
      const StateBuffers next = state.buffers_for(needs);
      EXPECT_EQ(next.optimizer, is_enough ? given.spare : nullptr);
      EXPECT_EQ(next.spare, is_enough ? given.optimizer : nullptr);
      EXPECT_EQ(state.buffers().spare, given.spare);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, TrainingStateOn, testing::Values(1, 2, 3, 4));

}  // namespace
}  // namespace tenax::parallel
