#include "app/emulated_replica.hpp"

#include <limits>

#include "app/units.hpp"
#include "comm/emulated/direct_endpoint.hpp"
#include "comm/emulated/ring_communicator.hpp"

namespace tenax::app {

using kernels::Deadline;
using parallel::GroupKind;

namespace {

/// A ring over links of its own, whose queues never hold up the host: collectives have a stream to themselves.
std::unique_ptr<comm::Communicator> make_data_group(const PipelinePlace& place, double deadline_s,
                                                    const parallel::ProcessGrid& grid) {
  constexpr int kManyMessages = 1 << 16;
  const std::vector<int> ranks = grid.group(GroupKind::data, place.world.rank());
  const parallel::GroupSplit part = grid.split(GroupKind::data, place.world.rank());
  const auto size = static_cast<int>(ranks.size());
  if (size == 1) return place.world.split_communicator("data", part.color, part.key, place.device);
  std::vector<comm::Peer> group;
  for (const int rank : ranks) group.push_back(place.peers[static_cast<std::size_t>(rank)]);
  const int me = grid.coordinates_of(place.world.rank()).data;
  std::vector<int> neighbours = {(me + 1) % size};
  if (size > 2) neighbours.push_back((me + size - 1) % size);
  comm::DirectOptions options;
  options.depth = kManyMessages;
  options.link_gbps = place.deck.device.link_gbps;
  options.deadline_s = deadline_s;
  auto endpoint = comm::create_emulated_direct_endpoint(format("data.%d", part.color), group, me, neighbours,
                                                        *place.transport, place.device, options);
  return comm::create_emulated_ring_communicator("data", std::move(endpoint), place.device, {deadline_s});
}

}  // namespace

EmulatedReplica::EmulatedReplica(const Layout& layout, const PipelinePlace& place,
                                 kernels::EmulatedDevice& device)
    : Replica(place.deck, layout, place.world, device),
      times_(place.deck.device),
      device_(device),
      stream_(device.create_stream()),
      data_group_(timed(make_data_group(place, group_deadline_s_, grid_))) {
  const auto s = static_cast<std::size_t>(coordinates_.pipeline);
  const parallel::StageCosts& costs = layout.costs.stages[s];
  stage_ = std::make_unique<model::EmulatedStage>(
      model::EmulatedStageCosts{costs.forward_s, costs.backward_input_s, costs.backward_weight_s,
                                static_cast<std::size_t>(times_.activation_bytes)},
      s == 0, s + 1 == layout.costs.stages.size(), device, *stream_);
  pipeline_ = std::make_unique<PipelineRunner>(
      layout_, grid_, place, [this](int) -> model::PipelineStage& { return *stage_; },
      PipelineRunner::Announce{});
}

kernels::Tensor EmulatedReplica::gradients() const {
  return {nullptr, kernels::DType::f32, {times_.gradient_bytes / 4}};
}

void EmulatedReplica::compute_gradients(std::span<const std::int32_t>, const UpdateSettings&,
                                        parallel::ScheduleObserver* observer) {
  device_.host_blocked(*stream_);  // the step begins now
  pipeline_->train({}, observer);
  data_group_->start_reduce_scatter(*stream_, gradients())->wait(Deadline::after_s(group_deadline_s_));
}

Replica::Sums EmulatedReplica::local_sums() {
  constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
  return {kNothing, kNothing};
}

void EmulatedReplica::update(const UpdateSettings&, const Vote&) {
  constexpr double kSecondsPerMs = 1e-3;
  device_.host_blocked(*stream_);
  update_phase_.begin(*stream_);
  device_.occupy(*stream_, times_.optimizer_ms * kSecondsPerMs);
  update_phase_.end(*stream_);
  data_group_->start_all_gather(*stream_, gradients())->wait(Deadline::after_s(group_deadline_s_));
}

double EmulatedReplica::evaluate(std::span<const std::int32_t>) {
  device_.host_blocked(*stream_);
  pipeline_->evaluate();
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace tenax::app
