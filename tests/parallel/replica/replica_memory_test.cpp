// What a rank takes of a device, beside what its plan says.
#include <gtest/gtest.h>

#include "comm/world.hpp"
#include "parallel/replica/gpt_replica.hpp"
#include "parallel/replica/rehearsal.hpp"
#include "resilience/diagnosis/device_probe.hpp"
#include "tests/kernels/async/stand_in.hpp"

namespace tenax::parallel {
namespace {

constexpr double kPatience_s = 60;
constexpr std::size_t kScratch_bytes = std::size_t{4} << 20;  ///< of every stream that multiplies

LayoutRequest small_request(kernels::DType compute, bool offloads) {
  LayoutRequest request;
  request.model = {.num_layers = 3,
                   .hidden_size = 128,
                   .num_attention_heads = 4,
                   .ffn_hidden_size = 512,
                   .seq_length = 64,
                   .vocab_size = 1000,
                   .compute_dtype = compute};
  request.microbatch = {4, 64};
  request.microbatches = 2;
  request.policy = &policy_of_name("1f1b");
  request.offloads_optimizer = offloads;
  return request;
}

/// As a run has it that looks for slow parts. The stand-in is as fast as a CPU, and is tested like one.
MemoryRoom watched_room(const kernels::Device& device) {
  constexpr std::size_t kPlenty = std::size_t{1} << 30;
  MemoryRoom room(kPlenty, kPlenty);
  room.workspace_bytes = [&device](const kernels::StepShape& shape) { return device.scratch_bytes(shape); };
  room.probe_bytes =
      resilience::DeviceProbe::bytes(kernels::DeviceKind::cpu, room.workspace_bytes(kernels::StepShape{}));
  return room;
}

class ReplicaMemory : public testing::TestWithParam<std::tuple<kernels::DType, bool>> {
 protected:
  const LayoutRequest request_ = small_request(std::get<0>(GetParam()), std::get<1>(GetParam()));
  kernels::test::StandInUse use_;
  std::unique_ptr<kernels::Device> device_ =
      kernels::test::create_stand_in({.scratch_bytes = kScratch_bytes, .use = &use_});
};

TEST_P(ReplicaMemory, is_with_the_tests_of_its_device_what_was_planned_within_two_percent) {
  const Layout layout = plan_layout(request_, 1e11, watched_room(*device_));
  const auto worlds = comm::create_thread_worlds(1, {kPatience_s});
  const std::vector<comm::Peer> nobody;
  const GptReplica replica(layout, ProcessGrid(layout.grid),
                           {.options = {}, .world = *worlds.front(), .device = *device_, .peers = nobody},
                           {});
  const resilience::DeviceProbe probe(*device_);
  device_->reclaim_memory();  // of matrices that were tried
  const RankMemory& memory = layout.memory_of_stage.front();
  const auto planned = static_cast<double>(memory.total());
  EXPECT_NEAR(static_cast<double>(use_.device), planned, 0.02 * planned);
  const auto on_host = static_cast<double>(memory.host_state);
  EXPECT_NEAR(static_cast<double>(use_.pinned), on_host, 0.02 * on_host);
}

// As after a failover: the stream stands at a message until it is ended.
TEST_P(ReplicaMemory, that_was_let_go_of_is_given_back_once_the_passes_of_a_step_are_through) {
  const Layout layout = plan_layout(request_, 1e11, watched_room(*device_));
  const auto worlds = comm::create_thread_worlds(1, {kPatience_s});
  const std::vector<comm::Peer> nobody;
  GptReplica replica(layout, ProcessGrid(layout.grid),
                     {.options = {}, .world = *worlds.front(), .device = *device_, .peers = nobody}, {});
  const std::vector<std::int32_t> windows(static_cast<std::size_t>(2 * 4 * (64 + 1)));
  const auto stream = device_->create_stream();
  const auto message = device_->create_flag();
  const std::size_t before = use_.device;
  stream->wait(*message, 1);
  device_->allocate(4096).reset();
  replica.passes({2, windows}, {}, nullptr);
  replica.norm();
  EXPECT_GE(use_.device, before + 4096);
  message->set(1);
  stream->synchronize(kernels::Deadline::after_s(kPatience_s));
  replica.norm();
  EXPECT_EQ(use_.device, before);
}

TEST_P(ReplicaMemory, of_a_rehearsal_is_given_back) {
  for (const int stage : {0, 1, 2}) {
    LayoutRequest request = request_;
    request.grid.pipeline = 3;
    rehearse_stage(request, stage, {}, *device_, kPatience_s);
    device_->reclaim_memory();
    EXPECT_EQ(use_.all(), 0u) << "stage " << stage;
  }
}

TEST_P(ReplicaMemory, is_rehearsed_with_activations_that_are_computed_again_and_several_tensor_ranks) {
  LayoutRequest request = request_;
  request.model.recomputes = true;
  request.grid.tensor = 2;
  rehearse_stage(request, 0, {}, *device_, kPatience_s);
  device_->reclaim_memory();
  EXPECT_EQ(use_.all(), 0u);
}

INSTANTIATE_TEST_SUITE_P(, ReplicaMemory,
                         testing::Combine(testing::Values(kernels::DType::f32, kernels::DType::bf16),
                                          testing::Bool()),
                         [](const auto& parameter) {
                           return std::string(kernels::name_of(std::get<0>(parameter.param))) +
                                  (std::get<1>(parameter.param) ? "_offloaded" : "_on_device");
                         });

}  // namespace
}  // namespace tenax::parallel
