// A whole GPT whose activations do not all fit: on the CPU, and on a device that runs later than it is told to.
#include "model/activation_offload.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "comm/world.hpp"
#include "kernels/kernels.hpp"
#include "kernels/random.hpp"
#include "model/gpt_stage.hpp"
#include "tests/kernels/async/stand_in.hpp"

namespace tenax::model {
namespace {

using kernels::DType;
using kernels::Tensor;

constexpr int kMicrobatches = 5;
const GptConfig kConfig{2, 16, 4, 40, 6, 11, DType::f32};
constexpr MicrobatchShape kShape{2, 6};

kernels::Deadline soon() { return kernels::Deadline::after_s(60); }

enum class Kind { forward, input, weight, both };
struct Step {
  Kind kind;
  int microbatch;
};

/// All forward passes first; then each backward pass at once, or all their first halves before the second ones.
std::vector<Step> row_of(bool split) {
  std::vector<Step> row;
  for (int m = 0; m < kMicrobatches; ++m) row.push_back({Kind::forward, m});
  for (int m = 0; m < kMicrobatches; ++m) row.push_back({split ? Kind::input : Kind::both, m});
  for (int m = 0; split && m < kMicrobatches; ++m) row.push_back({Kind::weight, m});
  return row;
}

struct Outcome {
  std::vector<double> losses;
  std::vector<float> gradients;
  int fetched = 0;  ///< contents that came back from the host
  bool operator==(const Outcome& other) const {
    return losses == other.losses && gradients == other.gradients;
  }
};

/// The stage's flat buffers on its device.
class Parameters {
 public:
  Parameters(GptStage& stage, kernels::Device& device) : device_(device) {
    std::vector<std::int64_t> offsets;
    for (const ParameterRow& row : stage.parameters().rows()) {
      offsets.push_back(size_);
      size_ += row.size();
    }
    stage.parameters().place(offsets);
    const std::size_t bytes = static_cast<std::size_t>(size_) * sizeof(float);
    memory_ = device.allocate(2 * bytes);
    pinned_ = device.allocate(bytes, kernels::MemoryKind::pinned_host);
    const kernels::CounterRandom random(7, "weights");
    for (std::int64_t i = 0; i < size_; ++i)
      host().as<float>()[i] = static_cast<float>(0.3 * random.normal(static_cast<std::uint64_t>(i)));
    device.kernels().copy(stage.stream(), host(), weights());
    stage.stream().synchronize(soon());
    stage.bind(weights(), gradients());
  }
  std::vector<float> read_gradients(kernels::Stream& stream) {
    device_.kernels().copy(stream, gradients(), host());
    stream.synchronize(soon());
    return {host().as<float>(), host().as<float>() + size_};
  }

 private:
  Tensor weights() const { return memory_->tensor(DType::f32, {size_}); }
  Tensor gradients() const {
    return memory_->tensor(DType::f32, {size_}, static_cast<std::size_t>(size_) * sizeof(float));
  }
  Tensor host() const { return pinned_->tensor(DType::f32, {size_}); }

  kernels::Device& device_;
  std::int64_t size_ = 0;
  std::unique_ptr<kernels::Buffer> memory_, pinned_;
};

std::vector<std::int32_t> windows() {
  std::vector<std::int32_t> tokens;
  for (int i = 0; i < kMicrobatches * 2 * 7; ++i) tokens.push_back((i * 7 + i / 3) % 11);
  return tokens;
}

/// Counts the contents that come back to it.
struct CountingStage : GptStage {
  using GptStage::GptStage;
  void adopt(int index, int microbatch) override {
    ++adopted;
    GptStage::adopt(index, microbatch);
  }
  int adopted = 0;
};

/// `bodies` 0: without offload.
Outcome train(kernels::Device& device, bool split, int bodies) {
  const auto worlds = comm::create_thread_worlds(1, {60});
  const auto stream = device.create_stream();
  const auto group = worlds[0]->split_communicator("tensor", 0, 0, device);
  CountingStage stage(kConfig, {0, kConfig.num_layers, true, true}, *group, device, *stream);
  Parameters parameters(stage, device);
  stage.allocate(kShape, bodies > 0 ? bodies : kMicrobatches, kMicrobatches);
  stage.set_batch(windows());
  const std::vector<Step> row = row_of(split);
  std::vector<int> order;
  for (const Step& step : row) order.push_back(step.microbatch);
  std::unique_ptr<ActivationOffload> offload;
  if (bodies > 0) offload = std::make_unique<ActivationOffload>(stage, device, kMicrobatches, bodies);
  PipelineStage& trained = offload ? static_cast<PipelineStage&>(*offload) : stage;
  for (int run = 0; run < 2; ++run) {
    if (offload) offload->begin(order);
    for (const auto& [kind, m] : row) {
      if (kind == Kind::forward)
        trained.forward(m, m, m > 0 ? ForwardGradients::add : ForwardGradients::overwrite);
      if (kind == Kind::input) trained.backward_input(m);
      if (kind == Kind::weight) trained.backward_weight(m, m > 0, {});
      if (kind == Kind::both) trained.backward(m, m > 0, {});
    }
  }
  const std::vector<double> losses = stage.microbatch_losses(soon());
  return {losses, parameters.read_gradients(*stream), stage.adopted};
}

class OffloadedGpt : public testing::TestWithParam<bool> {};

TEST_P(OffloadedGpt, learns_the_same_bits_whatever_the_device_holds) {
  for (const bool on_stand_in : {false, true}) {
    const auto device =
        on_stand_in ? kernels::test::create_stand_in({.jitter_us = 50}) : kernels::create_cpu_device();
    const Outcome all = train(*device, GetParam(), 0);
    ASSERT_GT(all.losses[0], 0);
    for (const int bodies : {2, 3, kMicrobatches}) {
      const Outcome some = train(*device, GetParam(), bodies);
      EXPECT_TRUE(some == all) << bodies << " bodies on " << device->name();
      EXPECT_EQ(some.fetched > 0, bodies < kMicrobatches);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backward, OffloadedGpt, testing::Bool(),
                         [](const auto& instance) { return instance.param ? "split" : "whole"; });

}  // namespace
}  // namespace tenax::model
