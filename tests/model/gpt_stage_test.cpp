// Whole stages: gradients against finite differences in fp64, tensor parallelism against one rank (ranks as threads).
#include "model/gpt_stage.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <thread>

#include "comm/world.hpp"
#include "kernels/random.hpp"

namespace tenax::model {
namespace {

using kernels::Deadline;
using kernels::DType;
using kernels::Tensor;

constexpr double kDeadline_s = 60;
// Uneven vocabulary; the 12 rows of a microbatch go through the head in chunks of 4.
const GptConfig kConfig{2, 16, 4, 40, 6, 11, DType::f64, false, 5};
constexpr MicrobatchShape kShape{2, 6};

/// A whole model in fp64 on one rank of a tensor group, with dense flat buffers.
class Model {
 public:
  explicit Model(comm::World& world, const GptConfig& config = kConfig)
      : device_(kernels::create_cpu_device()),
        stream_(device_->create_stream()),
        group_(world.split_communicator("tensor", 0, world.rank(), *device_)),
        stage_(config, {0, config.num_layers, true, true}, *group_, *device_, *stream_) {
    std::vector<std::int64_t> offsets;
    std::int64_t size = 0;
    for (const ParameterRow& row : stage_.parameters().rows()) {
      offsets.push_back(size);
      size += row.size();
    }
    stage_.parameters().place(offsets);
    memory_ = device_->allocate(2 * static_cast<std::size_t>(size) * sizeof(double));
    weights_ = memory_->tensor(DType::f64, {size});
    gradients_ = memory_->tensor(DType::f64, {size}, static_cast<std::size_t>(size) * sizeof(double));
    stage_.bind(weights_, gradients_);
    stage_.allocate(kShape, 2, 2);
    for (const ParameterRow& row : stage_.parameters().rows()) fill(row);
  }

  GptStage& stage() { return stage_; }
  double* weights() { return weights_.as<double>(); }
  double* gradients() { return gradients_.as<double>(); }
  std::int64_t size() const { return weights_.size(); }

  double loss(ForwardGradients gradients = ForwardGradients::overwrite) {
    stage_.forward(0, 0, gradients);
    return stage_.microbatch_losses(Deadline::after_s(kDeadline_s)).front();
  }
  /// Gradients by logical name and index.
  std::map<std::string, std::vector<double>> logical_gradients() {
    std::map<std::string, std::vector<double>> all;
    for (const ParameterRow& row : stage_.parameters().rows()) {
      auto& values = all[row.name];
      values.assign(static_cast<std::size_t>(row.layout.logical.size()), NAN);
      row.layout.for_each_run(0, row.size(), [&](const kernels::ShardLayout::Run& run) {
        for (std::int64_t i = 0; i < run.count; ++i)
          values[static_cast<std::size_t>(run.logical_begin + i)] =
              gradients()[row.offset + run.local_begin + i];
      });
    }
    return all;
  }

 private:
  // Nothing at its usual value, so that every term of the backward pass shows.
  void fill(const ParameterRow& row) {
    const kernels::CounterRandom random(7, row.name);
    const double centre = row.initialisation == Initialisation::ones ? 1.0 : 0.0;
    row.layout.for_each_run(0, row.size(), [&](const kernels::ShardLayout::Run& run) {
      for (std::int64_t i = 0; i < run.count; ++i)
        weights()[row.offset + run.local_begin + i] =
            centre + 0.3 * random.normal(static_cast<std::uint64_t>(run.logical_begin + i));
    });
  }

  std::unique_ptr<kernels::Device> device_;
  std::unique_ptr<kernels::Stream> stream_;
  std::unique_ptr<comm::Communicator> group_;
  GptStage stage_;
  std::unique_ptr<kernels::Buffer> memory_;
  Tensor weights_, gradients_;
};

std::vector<std::int32_t> windows(int microbatches) {
  std::vector<std::int32_t> tokens;
  const kernels::CounterRandom random(3, "tokens");
  const auto count = static_cast<std::uint64_t>(microbatches * kShape.sequences * (kShape.length + 1));
  for (std::uint64_t i = 0; i < count; ++i)
    tokens.push_back(
        static_cast<std::int32_t>(random.bits(i) % static_cast<std::uint64_t>(kConfig.vocab_size)));
  return tokens;
}

void on_ranks(int size, const std::function<void(comm::World&)>& body) {
  const auto worlds = comm::create_thread_worlds(size, {kDeadline_s});
  std::vector<std::thread> threads;
  for (const auto& world : worlds) threads.emplace_back([&body, &world] { body(*world); });
  for (std::thread& thread : threads) thread.join();
}

TEST(GptStage, gradients_match_finite_differences) {
  on_ranks(1, [](comm::World& world) {
    Model model(world);
    const auto batch = windows(1);
    model.stage().set_batch(batch);
    model.loss();
    model.stage().backward_input(0);
    model.stage().backward_weight(0, false, {});
    constexpr double kStep = 1e-6;
    for (std::int64_t i = 0; i < model.size(); i += 3) {
      double& weight = model.weights()[i];
      const double kept = weight;
      weight = kept + kStep;
      const double above = model.loss(ForwardGradients::none);
      weight = kept - kStep;
      const double below = model.loss(ForwardGradients::none);
      weight = kept;
      EXPECT_NEAR(model.gradients()[i], (above - below) / (2 * kStep),
                  2e-7 * (1 + std::abs(model.gradients()[i])))
          << "flat element " << i;
    }
  });
}

// The tied gradient alone is formed by two passes, F and W, and adds up in the order in which they run.
TEST(GptStage, weight_gradients_of_two_microbatches_add_in_whatever_order_their_passes_run) {
  on_ranks(1, [](comm::World& world) {
    Model model(world);
    const auto batch = windows(2);
    model.stage().set_batch(batch);
    const auto run = [&](bool deferred) {
      for (const int m : {0, 1}) {
        model.stage().forward(m, m, m > 0 ? ForwardGradients::add : ForwardGradients::overwrite);
        model.stage().backward_input(m);
        if (!deferred) model.stage().backward_weight(m, m > 0, {});
      }
      if (deferred)
        for (const int m : {0, 1}) model.stage().backward_weight(m, m > 0, {});
      return model.logical_gradients();
    };
    auto fused = run(false), split = run(true);
    const auto tied_fused = fused.extract("wte.weight").mapped(),
               tied_split = split.extract("wte.weight").mapped();
    EXPECT_EQ(fused, split);
    for (std::size_t i = 0; i < tied_fused.size(); ++i) EXPECT_NEAR(tied_fused[i], tied_split[i], 1e-13);
  });
}

TEST(GptStage, computes_the_same_whatever_rows_go_through_the_head_at_a_time) {
  on_ranks(1, [](comm::World& world) {
    constexpr MicrobatchShape kOdd{1, 5};
    const auto batch = windows(1);
    std::vector<double> losses;
    std::vector<std::map<std::string, std::vector<double>>> gradients;
    for (const int rows : {1, 2, 3, 5, 1000}) {
      GptConfig config = kConfig;
      config.logit_rows = rows;
      Model model(world, config);
      model.stage().set_shape(kOdd);
      model.stage().set_batch(std::span(batch).first(kOdd.sequences * (kOdd.length + 1)));
      losses.push_back(model.loss());
      model.stage().backward_input(0);
      model.stage().backward_weight(0, false, {});
      gradients.push_back(model.logical_gradients());
    }
    for (std::size_t i = 0; i + 1 < losses.size(); ++i) {
      EXPECT_NEAR(losses[i], losses.back(), 1e-12);
      for (const auto& [name, values] : gradients.back())
        for (std::size_t j = 0; j < values.size(); ++j) EXPECT_NEAR(gradients[i][name][j], values[j], 1e-12);
    }
  });
}

TEST(GptStage, more_slots_leave_the_memory_of_those_that_are_there) {
  on_ranks(1, [](comm::World& world) {
    Model model(world);
    GptStage& stage = model.stage();
    const auto batch = windows(1);
    stage.set_batch(batch);
    const double loss = model.loss();
    const void* const first = stage.contents(0).data;
    const void* const second = stage.contents(1).data;
    stage.allocate(kShape, 4, 2);
    EXPECT_EQ(stage.contents(0).data, first);
    EXPECT_EQ(stage.contents(1).data, second);
    EXPECT_EQ(stage.contents(3).bytes(), stage.contents(0).bytes());
    stage.set_batch(batch);
    EXPECT_EQ(model.loss(), loss);
  });
}

TEST(GptStage, has_the_memory_of_another_stage_where_that_is_large_enough) {
  on_ranks(1, [](comm::World& world) {
    Model before(world), after(world);
    const auto batch = windows(1);
    before.stage().set_batch(batch);
    const double loss = before.loss();
    GptStage& stage = after.stage();
    stage.share_memory(before.stage());
    stage.allocate(kShape, 3, 2);
    for (const int slot : {0, 1}) EXPECT_EQ(stage.contents(slot).data, before.stage().contents(slot).data);
    EXPECT_EQ(stage.contents(2).bytes(), stage.contents(0).bytes());
    stage.set_batch(batch);
    EXPECT_EQ(after.loss(), loss);

    Model larger(world), smaller(world);
    const MicrobatchShape more{kShape.sequences + 1, kShape.length};
    larger.stage().share_memory(stage);
    larger.stage().allocate(more, 1, 2);
    EXPECT_NE(larger.stage().contents(0).data, stage.contents(0).data);
    smaller.stage().share_memory(larger.stage());
    smaller.stage().allocate(kShape, 2, 2);
    EXPECT_EQ(smaller.stage().contents(0).data, larger.stage().contents(0).data);
    EXPECT_EQ(smaller.stage().contents(0).bytes(), smaller.stage().contents(1).bytes());
    smaller.stage().set_batch(batch);
    EXPECT_EQ(smaller.loss(), loss);
  });
}

TEST(GptStage, announces_every_row_once_during_the_last_weight_pass) {
  on_ranks(1, [](comm::World& world) {
    Model model(world);
    const auto batch = windows(1);
    model.stage().set_batch(batch);
    model.loss();
    model.stage().backward_input(0);
    std::vector<int> announced(model.stage().parameters().rows().size(), 0);
    model.stage().backward_weight(0, false, [&](int begin, int end) {
      for (int row = begin; row < end; ++row) ++announced[static_cast<std::size_t>(row)];
    });
    EXPECT_EQ(announced, std::vector<int>(announced.size(), 1));
  });
}

class TensorParallel : public testing::TestWithParam<int> {};

TEST_P(TensorParallel, ranks_compute_the_loss_and_gradients_of_one) {
  const auto batch = windows(1);
  std::map<std::string, std::vector<double>> expected;
  double expected_loss = 0;
  on_ranks(1, [&](comm::World& world) {
    Model model(world);
    model.stage().set_batch(batch);
    expected_loss = model.loss();
    model.stage().backward_input(0);
    model.stage().backward_weight(0, false, {});
    expected = model.logical_gradients();
  });
  on_ranks(GetParam(), [&](comm::World& world) {
    Model model(world);
    model.stage().set_batch(batch);
    EXPECT_NEAR(model.loss(), expected_loss, 1e-10);
    model.stage().backward_input(0);
    model.stage().backward_weight(0, false, {});
    for (const auto& [name, values] : model.logical_gradients())
      for (std::size_t i = 0; i < values.size(); ++i)
        if (!std::isnan(values[i])) {
          EXPECT_NEAR(values[i], expected[name][i], 1e-9) << name << " element " << i;
        }
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, TensorParallel, testing::Values(2, 4));

}  // namespace
}  // namespace tenax::model
