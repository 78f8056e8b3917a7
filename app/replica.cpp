#include "app/replica.hpp"

#include <array>
#include <cmath>
#include <numeric>

namespace tenax::app {

using kernels::Deadline;
using parallel::GroupKind;

namespace {

std::unique_ptr<comm::Communicator> split(comm::World& world, const parallel::ProcessGrid& grid,
                                          GroupKind kind, kernels::Device& device) {
  const parallel::GroupSplit part = grid.split(kind, world.rank());
  return world.split_communicator(parallel::name_of(kind), part.color, part.key, device);
}

// Forward passes alone, alternating between two slots so that a send overlaps the next pass.
std::vector<parallel::PipelineOp> forward_row(int microbatches) {
  std::vector<parallel::PipelineOp> row;
  for (int m = 0; m < microbatches; ++m) row.push_back({parallel::Pass::forward, m});
  return row;
}

std::vector<int> alternate(int ops, int slots) {
  std::vector<int> slot_of_op;
  for (int i = 0; i < ops; ++i) slot_of_op.push_back(i % std::min(slots, 2));
  return slot_of_op;
}

}  // namespace

Replica::Replica(const io::Deck& deck, const Layout& layout, comm::World& world, kernels::Device& device)
    : layout_(layout),
      device_(device),
      deadline_s_(deck.comm.deadline_s),
      stream_(device.create_stream()),
      control_(world.control_group()),
      grid_(layout.grid),
      coordinates_(grid_.coordinates_of(world.rank())),
      span_(layout.spans[static_cast<std::size_t>(coordinates_.pipeline)]),
      tensor_group_(split(world, grid_, GroupKind::tensor, device)),
      data_group_(split(world, grid_, GroupKind::data, device)),
      embedding_group_(split(world, grid_, GroupKind::embedding, device)) {
  const parallel::GroupSplit part = grid_.split(GroupKind::pipeline, world.rank());
  pipeline_ = world.split_endpoint(part.color, part.key);
  control_->agree([&] {
    stage_ = std::make_unique<model::GptStage>(layout_.config, span_, *tensor_group_, device, *stream_);
    state_ = std::make_unique<parallel::TrainingState>(stage_->parameters(), layout_.config.compute_dtype,
                                                       *data_group_, *embedding_group_, device, *stream_);
    stage_->bind(state_->weights(), state_->gradients());
    const parallel::SlotPlan slots = parallel::plan_slots(layout_.schedule, coordinates_.pipeline);
    stage_->allocate(layout_.microbatch, slots.slots, layout_.microbatches);
    reducer_ = std::make_unique<parallel::GradientReducer>(state_->shards(), state_->gradients(),
                                                           *data_group_, *stream_);
    parallel::PipelineNeighbours neighbours;
    const int p = coordinates_.pipeline;
    if (p > 0) neighbours.upstream = &pipeline_->link(p - 1);
    if (p + 1 < layout_.grid.pipeline) neighbours.downstream = &pipeline_->link(p + 1);
    const auto& row = layout_.schedule.ops_of_stage[static_cast<std::size_t>(p)];
    training_ = std::make_unique<parallel::ScheduleExecutor>(*stage_, device, neighbours, row,
                                                             slots.slot_of_op, deadline_s_);
    evaluation_ = std::make_unique<parallel::ScheduleExecutor>(
        *stage_, device, neighbours, forward_row(layout_.microbatches),
        alternate(layout_.microbatches, slots.slots), deadline_s_);
  });
}

void Replica::compute_gradients(std::span<const std::int32_t> windows, parallel::ScheduleObserver* observer) {
  if (reads_tokens()) stage_->set_batch(windows);
  reducer_->begin_step();
  training_->run([this](int begin, int end) { reducer_->rows_ready(begin, end); }, {}, observer);
  reducer_->finish(Deadline::after_s(deadline_s_));
  state_->sum_tied_gradient();
}

// One rank of each last stage speaks for its pipeline.
double Replica::local_loss() {
  if (!span_.has_head || coordinates_.tensor != 0) return 0;
  const std::vector<double> losses = stage_->microbatch_losses(Deadline::after_s(deadline_s_));
  return std::accumulate(losses.begin(), losses.end(), 0.0);
}

Vote Replica::vote(const Wishes& wishes) {
  std::array<double, 5> sums = {local_loss(), state_->sum_of_squares(Deadline::after_s(deadline_s_)),
                                wishes.signal ? 1.0 : 0.0, wishes.time_limit ? 1.0 : 0.0,
                                wishes.failure ? 1.0 : 0.0};
  control_->all_reduce_sum(sums);
  const auto tokens =
      static_cast<double>(layout_.microbatch.rows() * layout_.microbatches * layout_.grid.data);
  Vote vote;
  vote.loss = sums[0] / tokens;
  vote.grad_norm = std::sqrt(sums[1]) / tokens;
  vote.finite = std::isfinite(vote.loss) && std::isfinite(vote.grad_norm);
  vote.wishes = {sums[2] > 0, sums[3] > 0, sums[4] > 0};
  return vote;
}

void Replica::update(const io::OptimizerSection& optimizer, double learning_rate, std::int64_t update,
                     double grad_norm) {
  const auto tokens =
      static_cast<double>(layout_.microbatch.rows() * layout_.microbatches * layout_.grid.data);
  const double clip = optimizer.clip_grad > 0 ? std::min(1.0, optimizer.clip_grad / (grad_norm + 1e-6)) : 1.0;
  const parallel::AdamWSettings settings{optimizer.adam_beta1, optimizer.adam_beta2, optimizer.adam_eps,
                                         optimizer.weight_decay};
  state_->update(settings, learning_rate, update, clip / tokens, Deadline::after_s(deadline_s_));
}

double Replica::evaluate(std::span<const std::int32_t> windows) {
  if (reads_tokens()) stage_->set_batch(windows);
  evaluation_->run();
  std::array<double, 1> sum = {local_loss()};
  control_->all_reduce_sum(sum);
  return sum[0];
}

}  // namespace tenax::app
