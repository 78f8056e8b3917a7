#include "parallel/replica/emulated_replica.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "comm/emulated/direct_endpoint.hpp"

namespace tenax::parallel {

using kernels::Deadline;

namespace {

/// A ring over links of its own, whose queues never hold up the host: collectives have a stream to themselves.
/// `link_gbps`: of these links.
std::unique_ptr<comm::Communicator> make_group(GroupKind kind, const PipelineContext& context,
                                               double link_gbps, double deadline_s, const ProcessGrid& grid) {
  constexpr int kManyMessages = 1 << 16;
  const std::string name = name_of(kind);
  const std::vector<int> ranks = grid.group(kind, context.world.rank());
  const GroupSplit part = grid.split(kind, context.world.rank());
  const auto size = static_cast<int>(ranks.size());
  if (size == 1) return context.world.split_communicator(name, part.color, part.key, context.device);
  std::vector<comm::Peer> group;
  for (const int rank : ranks) group.push_back(context.peers[static_cast<std::size_t>(rank)]);
  const auto me =
      static_cast<int>(std::find(ranks.begin(), ranks.end(), context.world.rank()) - ranks.begin());
  comm::DirectOptions options;
  options.depth = kManyMessages;
  options.link_gbps = link_gbps;
  options.deadline_s = deadline_s;
  const std::string purpose = grid.connection_name(name, part.color);
  const auto make_links = [=, &transport = *context.transport,
                           &device = context.device](const std::vector<int>& neighbours) {
    return comm::create_emulated_direct_endpoint(purpose, group, me, neighbours, transport, device, options);
  };
  return context.world.watch(
      comm::create_emulated_ring_communicator(name, me, size, make_links, context.device, {deadline_s}),
      purpose);
}

}  // namespace

EmulatedReplica::EmulatedReplica(const Layout& layout, const ProcessGrid& grid,
                                 const PipelineContext& context, kernels::EmulatedDevice& device,
                                 Options options)
    : Replica(layout, grid, context),
      options_(std::move(options)),
      device_(device),
      stream_(device.create_stream()),
      data_group_(timed(make_group(GroupKind::data, context, context.options.emulated.link_gbps,
                                   group_deadline_s_, grid_))) {
  const auto s = static_cast<std::size_t>(coordinates_.pipeline);
  const StageCosts& costs = layout.costs.stages[s];
  stage_ = std::make_unique<model::EmulatedStage>(
      model::EmulatedStageCosts{costs.forward_s, costs.backward_input_s, costs.backward_weight_s,
                                options_.load.activation_bytes},
      s == 0, s + 1 == layout.costs.stages.size(), device, *stream_);
  create_tensor_group(context);
  pipeline_ = std::make_unique<PipelineRunner>(
      layout_, grid_, context, [this](int) -> model::PipelineStage& { return *stage_; },
      PipelineRunner::Announce{});
}

// A pass's time is configured with its collectives, so that healthy links add nothing to it.
void EmulatedReplica::create_tensor_group(const PipelineContext& context) {
  constexpr double kInfinite_gbps = 0;
  if (layout_.grid.tensor == 1) return;
  tensor_group_ = timed(make_group(GroupKind::tensor, context, kInfinite_gbps, group_deadline_s_, grid_));
  stage_->end_passes_with(*tensor_group_);
}

kernels::Tensor EmulatedReplica::gradients() const {
  constexpr std::size_t kElementBytes = 4;
  return {nullptr,
          kernels::DType::f32,
          {static_cast<std::int64_t>(options_.load.gradient_bytes / kElementBytes)}};
}

void EmulatedReplica::passes(const StepBatch& batch, const kernels::UpdateRule&, ScheduleObserver* observer) {
  device_.host_blocked(*stream_);  // the step begins now
  model::GradientsReady ready;
  if (is_alone()) ready = [this](int begin, int end) { announce_rows(begin, end); };
  if (batch.microbatches == 0) {
    if (ready) ready(0, model::EmulatedStage::kRows);
    return;
  }
  pipeline_->set_microbatches(batch.microbatches);
  pipeline_->train(ready, observer);
}

void EmulatedReplica::reduce() {
  device_.host_blocked(*stream_);  // it may have waited for a neighbour to take the last message
  data_group_->start_reduce_scatter(*stream_, gradients())->wait(Deadline::after_s(group_deadline_s_));
  if (!is_alone()) announce_pieces();
}

void EmulatedReplica::announce_pieces() { announce_rows(0, model::EmulatedStage::kRows); }

// Each row is a bucket.
void EmulatedReplica::announce_rows(int begin, int end) {
  if (!piece_ready_ || keeps_sums_) return;
  const std::int64_t size = gradients().size() / layout_.grid.data, rows = model::EmulatedStage::kRows;
  for (int row = begin; row < end; ++row) {
    const kernels::Tensor piece{nullptr, kernels::DType::f32, {size * (row + 1) / rows - size * row / rows}};
    if (piece.size() > 0) piece_ready_(*stream_, row, {piece, piece});
  }
}

void EmulatedReplica::add_kept_sums() {
  keeps_sums_ = false;
  announce_pieces();
}

double EmulatedReplica::loss() { return std::numeric_limits<double>::quiet_NaN(); }

StepSums EmulatedReplica::norm() { return {loss(), loss()}; }

void EmulatedReplica::update(const kernels::UpdateRule&, double) {
  device_.host_blocked(*stream_);
  update_phase_.begin(*stream_);
  device_.occupy(*stream_, options_.optimizer_s);
  update_phase_.end(*stream_);
}

void EmulatedReplica::gather() {
  data_group_->start_all_gather(*stream_, gradients())->wait(Deadline::after_s(group_deadline_s_));
}

Replica::Evaluation EmulatedReplica::evaluate(const StepBatch& batch, const Riders& riders) {
  device_.host_blocked(*stream_);
  pipeline_->set_microbatches(batch.microbatches);
  pipeline_->evaluate();
  std::vector<double> sums = riders();
  sum_over_ranks(sums);
  return {.loss = std::numeric_limits<double>::quiet_NaN(), .riders = std::move(sums)};
}

}  // namespace tenax::parallel
