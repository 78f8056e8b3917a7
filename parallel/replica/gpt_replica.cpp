#include "parallel/replica/gpt_replica.hpp"

#include <array>
#include <numeric>

namespace tenax::parallel {

using kernels::Deadline;

GptReplica::GptReplica(const Layout& layout, const BatchPlan& batch, const PipelineContext& context,
                       Options options)
    : Replica(layout, batch, context),
      span_(layout.spans[static_cast<std::size_t>(coordinates_.pipeline)]),
      is_alone_(context.world.size() == 1),
      stream_(context.device.create_stream()),
      tensor_group_(split(context.world, GroupKind::tensor)),
      data_group_(split(context.world, GroupKind::data)),
      embedding_group_(split(context.world, GroupKind::embedding)) {
  control_->agree([&] {
    stream_->reserve_scratch(
        layout_.memory_of_stage[static_cast<std::size_t>(coordinates_.pipeline)].workspace);
    stage_ =
        std::make_unique<model::GptStage>(layout_.config, span_, *tensor_group_, context.device, *stream_);
    state_ = std::make_unique<TrainingState>(stage_->parameters(), layout_.config.compute_dtype,
                                             *layout_.optimizer, *data_group_, *embedding_group_,
                                             context.device, *stream_);
    mirror_ = std::make_unique<StateMirror>(*state_, context.device, *stream_);
    stage_->bind(state_->weights(), state_->gradients());
    reducer_ =
        std::make_unique<GradientReducer>(state_->shards(), state_->gradients(), *data_group_, *stream_);
  });
  pipeline_ = std::make_unique<PipelineRunner>(
      layout_, grid_, context,
      [this, &device = context.device](int slots) -> model::PipelineStage& {
        return allocate(slots, device);
      },
      [this](const PipelineRunner::Row& row) { announce(row); });
  if (options.captures_graph && context.device.can_capture()) graph_.emplace(*stream_);
}

// Activations that the device has no room for wait on the host.
model::PipelineStage& GptReplica::allocate(int slots, kernels::Device& device) {
  const int on_device =
      layout_.slot_room_of_stage[static_cast<std::size_t>(coordinates_.pipeline)].on_device(slots);
  offload_.reset();
  stage_->allocate(layout_.microbatch, on_device, layout_.schedule.microbatches());
  if (on_device == slots) return *stage_;
  offload_ = std::make_unique<model::ActivationOffload>(*stage_, device, slots, on_device);
  return *offload_;
}

void GptReplica::announce(const PipelineRunner::Row& row) {
  if (!offload_) return;
  std::vector<int> microbatches;
  for (const PipelineOp& op : row) microbatches.push_back(op.microbatch);
  offload_->begin(std::move(microbatches));
}

void GptReplica::passes(std::span<const std::int32_t> windows, const kernels::UpdateRule& rule,
                        ScheduleObserver* observer) {
  rule_ = rule;
  if (reads_tokens()) stage_->set_batch(windows);
  if (!is_alone_) return run_passes(observer);
  state_->set_rule(rule);
  if (graph_ && !observer)
    graph_->run([this] { run_step(nullptr); });
  else
    run_step(observer);
}

void GptReplica::run_passes(ScheduleObserver* observer) {
  reducer_->begin_step();
  pipeline_->train([this](int begin, int end) { reducer_->rows_ready(begin, end); }, observer);
}

void GptReplica::run_step(ScheduleObserver* observer) {
  run_passes(observer);
  reducer_->finish(all_run());
  if (observer) update_phase_.begin(*stream_);  // nobody may ask for the events of a graph
  state_->update_if_finite(stage_->losses());
  if (observer) update_phase_.end(*stream_);
}

void GptReplica::reduce() {
  if (!is_alone_) reducer_->finish(all_run());
}

void GptReplica::sum_tied() {
  if (!is_alone_) state_->sum_tied_gradient();
}

kernels::Deadline GptReplica::all_run() const { return Deadline::after_s(pipeline_->patience_s()); }

// One rank of each last stage speaks for its pipeline.
double GptReplica::local_loss() {
  if (!span_.has_head || coordinates_.tensor != 0) return 0;
  const std::vector<double> losses = stage_->microbatch_losses(all_run());
  return std::accumulate(losses.begin(), losses.end(), 0.0);
}

// All that is asked for stands behind the passes before the host waits for any of it.
StepSums GptReplica::norm() {
  if (!is_alone_) state_->start_sum_of_squares();
  const double loss = local_loss(), squares = state_->squares(all_run());
  for (comm::Communicator* group : {tensor_group_.get(), data_group_.get(), embedding_group_.get()})
    group->check();  // what was computed on sums that failed to come is not used
  return {loss, squares};
}

void GptReplica::update(double squares) {
  if (is_alone_) return;  // it stands behind the passes already
  update_phase_.begin(*stream_);
  state_->start_update(rule_, squares);
}

void GptReplica::gather() {
  if (is_alone_) return;
  state_->finish_update(Deadline::after_s(deadline_s_));
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

}  // namespace tenax::parallel
