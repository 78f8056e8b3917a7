#include "parallel/replica/rehearsal.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "comm/world.hpp"
#include "kernels/random.hpp"
#include "parallel/replica/paper_group.hpp"
#include "parallel/replica/replica.hpp"

namespace tenax::parallel {
namespace {

using kernels::Deadline;
using kernels::Tensor;

/// Of each rank: enough for a library to take the way, and the buffers, of long messages.
constexpr std::size_t kMessage_bytes = std::size_t{4} << 20;

/// As weights of a model that has not been trained.
constexpr double kSpread = 0.02;

/// A device's memory full of random numbers, and the way from there to tensors of any size.
class RandomNumbers {
 public:
  RandomNumbers(kernels::Device& device, kernels::Stream& stream)
      : kernels_(device.kernels()),
        stream_(stream),
        pinned_(device.allocate(kCount * sizeof(float), kernels::MemoryKind::pinned_host)),
        memory_(device.allocate(kCount * sizeof(float))) {
    const kernels::CounterRandom random(1, "rehearsal");
    auto* const numbers = static_cast<float*>(pinned_->data());
    for (std::int64_t i = 0; i < kCount; ++i)
      numbers[i] = static_cast<float>(kSpread * (2 * random.uniform(static_cast<std::uint64_t>(i)) - 1));
    kernels_.copy(stream, pinned_->tensor(kernels::DType::f32, {kCount}), all());
  }
  /// Enqueues.
  void fill(const Tensor& tensor) const {
    for (std::int64_t begin = 0; begin < tensor.size(); begin += kCount) {
      const std::int64_t count = std::min(kCount, tensor.size() - begin);
      kernels_.cast(stream_, all().part(0, {count}), tensor.part(begin, {count}));
    }
  }

 private:
  static constexpr std::int64_t kCount = 1 << 18;
  Tensor all() const { return memory_->tensor(kernels::DType::f32, {kCount}); }

  kernels::Kernels& kernels_;
  kernels::Stream& stream_;
  std::unique_ptr<kernels::Buffer> pinned_, memory_;
};

/// The state of a stage that is alone.
class StageOnTrial {
 public:
  StageOnTrial(const Layout& layout, const model::StageSpan& span, kernels::Device& device)
      : layout_(layout),
        stream_(device.create_stream()),
        worlds_(comm::create_thread_worlds(1, {})),
        alone_(worlds_.front()->split_communicator("rehearsal", 0, 0, device)),
        tensor_group_(layout.grid.tensor),
        stage_(layout.config, span, tensor_group_, device, *stream_),
        state_(stage_.parameters(), layout.config.compute_dtype, *layout.optimizer, *alone_, *alone_, device,
               *stream_, SumMemory::in_place, {}, optimizer_home_of(layout)),
        numbers_(device, *stream_) {
    stage_.bind(state_.weights(), state_.gradients());
    stage_.allocate(layout.microbatch, 1, 1);
  }

  void run(Deadline deadline) {
    for (const OwnedState& owned : state_.owned()) numbers_.fill(owned.master);
    if (const Tensor input = stage_.input(0)) numbers_.fill(input);
    state_.publish_weights(deadline);
    const std::vector<std::int32_t> windows(
        static_cast<std::size_t>(layout_.microbatch.sequences * (layout_.microbatch.length + 1)));
    stage_.set_batch(windows);
    for (const bool accumulate : {false, true}) {
      stage_.forward(0, 0, accumulate ? model::ForwardGradients::add : model::ForwardGradients::overwrite);
      if (layout_.never_splits_backward()) {
        stage_.backward(0, accumulate, {});
      } else {
        stage_.backward_input(0);
        stage_.backward_weight(0, accumulate, {});
      }
    }
    state_.start_sum_of_squares();
    state_.start_update({}, state_.squares(deadline));
    state_.finish_update(deadline);
    stream_->synchronize(deadline);
  }

 private:
  const Layout& layout_;
  std::unique_ptr<kernels::Stream> stream_;
  std::vector<std::unique_ptr<comm::World>> worlds_;
  std::unique_ptr<comm::Communicator> alone_;
  PaperGroup tensor_group_;
  model::GptStage stage_;
  TrainingState state_;
  RandomNumbers numbers_;
};

void prepare_communicators(comm::PreparedWorld& world, const LayoutRequest& request, const ProcessGrid& grid,
                           kernels::Device& device) {
  for (const GroupKind kind : {GroupKind::tensor, GroupKind::data, GroupKind::embedding}) {
    const GroupSplit part = grid.split(kind, world.rank());
    world.prepare_communicator(name_of(kind), part.color, part.key, device, request.model.compute_dtype,
                               kMessage_bytes);
  }
}

void prepare_links(comm::PreparedWorld& world, const LayoutRequest& request, const ProcessGrid& grid,
                   kernels::Device& device, double deadline_s) {
  const int stage = grid.coordinates_of(world.rank()).pipeline;
  std::vector<int> neighbours;
  for (const int neighbour : {stage - 1, stage + 1})
    if (neighbour >= 0 && neighbour < request.grid.pipeline) neighbours.push_back(neighbour);
  const GroupSplit part = grid.split(GroupKind::pipeline, world.rank());
  world.prepare_direct_endpoint(part.color, part.key, neighbours, device, {deadline_s, deadline_s});
}

void lend_alike(comm::ControlGroup& control, kernels::Device& device) {
  const int lent = device.lent_multiprocessors();
  std::array<double, 1> most = {static_cast<double>(lent)};
  control.all_reduce_max(most);
  device.lend_multiprocessors(static_cast<int>(most[0]) - lent);
}

}  // namespace

void prepare_groups(comm::PreparedWorld& world, const LayoutRequest& request, const ProcessGrid& grid,
                    PathChoice paths, kernels::Device& device, double deadline_s) {
  world.set_options({Replica::group_deadline_s(deadline_s, request.fails_over)});
  prepare_communicators(world, request, grid, device);
  world.set_options({deadline_s});
  if (request.grid.pipeline > 1 && paths != PathChoice::delegated_only)
    prepare_links(world, request, grid, device, deadline_s);
  lend_alike(*world.control_group(), device);
}

void rehearse_stage(const LayoutRequest& request, int stage, const ComputeHabits& habits,
                    kernels::Device& device, double deadline_s) {
  const Layout layout = begin_layout(request, habits);
  const model::StageSpan span{0, 1, stage == 0, stage + 1 == layout.grid.pipeline};
  StageOnTrial(layout, span, device).run(Deadline::after_s(deadline_s));
}

}  // namespace tenax::parallel
