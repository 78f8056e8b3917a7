// Initialisation, ranks as threads: the model that a seed gives is the same in every layout.
#include "app/training/initial_weights.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <mutex>
#include <thread>

#include "comm/world.hpp"
#include "model/gpt_stage.hpp"

namespace tenax::app {
namespace {

using Weights = std::map<std::string, std::vector<float>>;

const model::GptConfig kConfig{2, 32, 4, 128, 8, 101};

// All logical weights that `tensor` × `data` ranks (tensor fastest) hold as primary.
Weights initialised(int tensor, int data, std::uint64_t seed, int threads_of_rank = 1) {
  const auto worlds = comm::create_thread_worlds(tensor * data, {60});
  Weights weights;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (const auto& world : worlds)
    threads.emplace_back([&] {
      const auto device = kernels::create_cpu_device();
      const auto stream = device->create_stream();
      const int t = world->rank() % tensor, d = world->rank() / tensor;
      const auto tensor_group = world->split_communicator("tensor", d, t, *device);
      const auto data_group = world->split_communicator("data", t, d, *device);
      const auto alone = world->split_communicator("embedding", world->rank(), 0, *device);
      model::GptStage stage(kConfig, {0, kConfig.num_layers, true, true}, *tensor_group, *device, *stream);
      parallel::TrainingState state(stage.parameters(), kConfig.compute_dtype,
                                    parallel::optimizer_of_name("adamw"), *data_group, *alone, *device,
                                    *stream);
      const parallel::StateMirror mirror(state, *device, *stream);
      initialise(mirror, kConfig, seed, threads_of_rank);
      const std::scoped_lock lock(mutex);
      for (const io::StateRange& range : state_ranges(mirror)) {
        if (!range.primary) continue;
        auto& values = weights[range.name];
        values.resize(static_cast<std::size_t>(range.layout.logical.size()), NAN);
        range.layout.for_each_run(range.local_begin, range.local_begin + range.count, [&](const auto& run) {
          for (std::int64_t i = 0; i < run.count; ++i)
            values[static_cast<std::size_t>(run.logical_begin + i)] =
                range.weights()[run.local_begin - range.local_begin + i];
        });
      }
    });
  for (std::thread& thread : threads) thread.join();
  return weights;
}

double deviation(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

TEST(InitialWeights, depend_on_seed_name_and_index_alone) {
  const Weights one = initialised(1, 1, 5);
  EXPECT_EQ(one, initialised(2, 1, 5));
  EXPECT_EQ(one, initialised(4, 2, 5));
  EXPECT_EQ(one, initialised(1, 3, 5));
  EXPECT_EQ(one, initialised(1, 1, 5, 3));
  EXPECT_NE(one, initialised(1, 1, 6));
}

TEST(InitialWeights, are_gpt2s) {
  const Weights weights = initialised(1, 1, 5);
  EXPECT_EQ(weights.size(), 2U * 12 + 4);
  EXPECT_NEAR(deviation(weights.at("wte.weight")), 0.02, 0.001);
  EXPECT_NEAR(deviation(weights.at("h.1.attn.c_attn.weight")), 0.02, 0.001);
  EXPECT_NEAR(deviation(weights.at("h.1.mlp.c_proj.weight")), 0.02 / std::sqrt(4.0), 0.0007);
  EXPECT_NEAR(deviation(weights.at("h.0.attn.c_proj.weight")), 0.02 / std::sqrt(4.0), 0.0007);
  EXPECT_EQ(weights.at("ln_f.weight"), std::vector<float>(32, 1.0F));
  EXPECT_EQ(weights.at("h.0.mlp.c_fc.bias"), std::vector<float>(128, 0.0F));
}

}  // namespace
}  // namespace tenax::app
