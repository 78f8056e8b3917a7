#include "app/gpt_replica.hpp"

#include <array>
#include <numeric>

namespace tenax::app {

using kernels::Deadline;
using parallel::GroupKind;

GptReplica::GptReplica(const Layout& layout, const PipelinePlace& place)
    : Replica(place.deck, layout, place.world, place.device),
      span_(layout.spans[static_cast<std::size_t>(coordinates_.pipeline)]),
      is_alone_(place.world.size() == 1 && place.deck.parallel.replicas == 1),
      stream_(place.device.create_stream()),
      tensor_group_(split(place.world, GroupKind::tensor)),
      data_group_(split(place.world, GroupKind::data)),
      embedding_group_(split(place.world, GroupKind::embedding)) {
  control_->agree([&] {
    stream_->reserve_scratch(
        layout_.memory_of_stage[static_cast<std::size_t>(coordinates_.pipeline)].workspace);
    stage_ = std::make_unique<model::GptStage>(layout_.config, span_, *tensor_group_, place.device, *stream_);
    state_ =
        std::make_unique<parallel::TrainingState>(stage_->parameters(), layout_.config.compute_dtype,
                                                  *data_group_, *embedding_group_, place.device, *stream_);
    mirror_ = std::make_unique<parallel::StateMirror>(*state_, place.device, *stream_);
    stage_->bind(state_->weights(), state_->gradients());
    reducer_ = std::make_unique<parallel::GradientReducer>(state_->shards(), state_->gradients(),
                                                           *data_group_, *stream_);
  });
  pipeline_ = std::make_unique<PipelineRunner>(
      layout_, grid_, place,
      [this, &device = place.device](int slots) -> model::PipelineStage& { return allocate(slots, device); },
      [this](const PipelineRunner::Row& row) { announce(row); });
  if (place.deck.device.cuda_graph && place.device.can_capture()) graph_.emplace(*stream_);
}

// Activations that the device has no room for wait on the host.
model::PipelineStage& GptReplica::allocate(int slots, kernels::Device& device) {
  const int on_device =
      layout_.slot_room_of_stage[static_cast<std::size_t>(coordinates_.pipeline)].on_device(slots);
  offload_.reset();
  stage_->allocate(layout_.microbatch, on_device, layout_.microbatches);
  if (on_device == slots) return *stage_;
  offload_ = std::make_unique<model::ActivationOffload>(*stage_, device, slots, on_device);
  return *offload_;
}

void GptReplica::announce(const PipelineRunner::Row& row) {
  if (!offload_) return;
  std::vector<int> microbatches;
  for (const parallel::PipelineOp& op : row) microbatches.push_back(op.microbatch);
  offload_->begin(std::move(microbatches));
}

void GptReplica::compute_gradients(std::span<const std::int32_t> windows, const UpdateSettings& settings,
                                   parallel::ScheduleObserver* observer) {
  if (reads_tokens()) stage_->set_batch(windows);
  if (!is_alone_) return run_passes(observer);
  state_->set_rule(rule(settings));
  if (graph_ && !observer)
    graph_->run([this] { run_step(nullptr); });
  else
    run_step(observer);
}

void GptReplica::run_step(parallel::ScheduleObserver* observer) {
  run_passes(observer);
  if (observer) update_phase_.begin(*stream_);  // nobody may ask for the events of a graph
  state_->update_if_finite(stage_->losses(), Deadline::after_s(deadline_s_));
  if (observer) update_phase_.end(*stream_);
}

void GptReplica::run_passes(parallel::ScheduleObserver* observer) {
  reducer_->begin_step();
  pipeline_->train([this](int begin, int end) { reducer_->rows_ready(begin, end); }, observer);
  reducer_->finish(all_run());
  state_->sum_tied_gradient();
}

kernels::Deadline GptReplica::all_run() const { return Deadline::after_s(pipeline_->patience_s()); }

// One rank of each last stage speaks for its pipeline.
double GptReplica::local_loss() {
  if (!span_.has_head || coordinates_.tensor != 0) return 0;
  const std::vector<double> losses = stage_->microbatch_losses(all_run());
  return std::accumulate(losses.begin(), losses.end(), 0.0);
}

// All that is asked for stands behind the passes before the host waits for any of it.
Replica::Sums GptReplica::local_sums() {
  if (!is_alone_) state_->start_sum_of_squares();
  const double loss = local_loss(), squares = state_->squares(all_run());
  for (comm::Communicator* group : {tensor_group_.get(), data_group_.get(), embedding_group_.get()})
    group->check();  // what was computed on sums that failed to come is not used
  return {loss, squares};
}

kernels::AdamWRule GptReplica::rule(const UpdateSettings& settings) const {
  const io::OptimizerSection& optimizer = settings.optimizer;
  return {.learning_rate = settings.learning_rate,
          .beta1 = optimizer.adam_beta1,
          .beta2 = optimizer.adam_beta2,
          .epsilon = optimizer.adam_eps,
          .weight_decay = optimizer.weight_decay,
          .tokens = global_tokens(),
          .clip_grad = optimizer.clip_grad,
          .step = settings.number};
}

void GptReplica::update(const UpdateSettings& settings, const Vote& vote) {
  if (is_alone_) return;  // it stands behind the passes already
  update_phase_.begin(*stream_);
  state_->update(rule(settings), vote.squares, Deadline::after_s(deadline_s_));
  update_phase_.end(*stream_);
}

double GptReplica::evaluate(std::span<const std::int32_t> windows) {
  if (reads_tokens()) stage_->set_batch(windows);
  std::array<double, 2> sums;  // of losses, and of ranks on which they do not count
  do {
    pipeline_->evaluate();
    sums = {local_loss(), pipeline_->is_void() ? 1.0 : 0.0};
    tensor_group_->check();
    control_->all_reduce_sum(sums);
  } while (sums[1] > 0);
  return sums[0];
}

}  // namespace tenax::app
