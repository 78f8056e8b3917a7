#include "parallel/replica/gpt_replica.hpp"

#include <cstring>
#include <numeric>
#include <vector>

#include "parallel/replica/swap_memory.hpp"

namespace tenax::parallel {

using kernels::Deadline;

GptReplica::GptReplica(const Layout& layout, const ProcessGrid& grid, const PipelineContext& context,
                       Options options)
    : Replica(layout, grid, context),
      span_(layout.spans[static_cast<std::size_t>(coordinates_.pipeline)]),
      is_alone_(context.world.size() == 1 && !layout.has_peers && !options.waits_for_votes),
      stream_(context.device.create_stream()),
      tensor_group_(split(context.world, GroupKind::tensor)),
      data_group_(split(context.world, GroupKind::data)),
      embedding_group_(split(context.world, GroupKind::embedding)) {
  stream_->use_threads(context.device.threads());
  control_->agree([&] {
    stream_->reserve_scratch(
        layout_.memory_of_stage[static_cast<std::size_t>(coordinates_.pipeline)].workspace);
    stage_ =
        std::make_unique<model::GptStage>(layout_.config, span_, *tensor_group_, context.device, *stream_);
    if (options.before) stage_->share_memory(*options.before->stage_);
    state_ = std::make_unique<TrainingState>(
        stage_->parameters(), layout_.config.compute_dtype, *layout_.optimizer, *data_group_,
        *embedding_group_, context.device, *stream_, sum_memory_of(layout_),
        state_memory(options, context.device), optimizer_home_of(layout_));
    mirror_ = std::make_unique<StateMirror>(*state_, context.device, *stream_,
                                            stays(options.before) ? options.before->mirror_.get() : nullptr);
    stage_->bind(state_->weights(), state_->gradients());
    reducer_ = std::make_unique<GradientReducer>(state_->shards(), state_->gradients(), *data_group_,
                                                 *stream_, [this](int bucket) { tell_of(bucket); });
  });
  pipeline_ = std::make_unique<PipelineRunner>(
      layout_, grid_, context,
      [this, &device = context.device](int slots) -> model::PipelineStage& {
        return allocate(slots, device);
      },
      [this](const PipelineRunner::Row& row) { announce(row); });
  if (options.captures_graph && context.device.can_capture()) graph_.emplace(*stream_);
}

// Host memory takes no room before it is written to: a rank asks for what the largest stage needs at once, to have it in any
// place.
StateBuffers GptReplica::state_memory(const Options& options, kernels::Device& device) const {
  const GptReplica* const before = options.before;
  if (stays(before)) return before->state_->buffers();
  const auto stage = static_cast<std::size_t>(coordinates_.pipeline);
  if (before) return before->state_->buffers_for(layout_.memory_of_stage[stage].state);
  if (layout_.grid.pipeline == 1 || layout_.has_peers) return {};
  const StateMemory largest = largest_state(layout_);
  StateBuffers given;
  if (options.keeps_spare) given.spare = device.allocate(spare_bytes(layout_));
  if (!device.is_host_memory()) return given;
  if (given.spare) {
    given.optimizer = device.allocate(largest.optimizer);
    std::memset(given.spare->data(), 0, given.spare->bytes());
  }
  given.weights = device.allocate(largest.weights);
  given.gradients = device.allocate(largest.gradients);
  return given;
}

// Activations that the device has no room for wait on the host.
model::PipelineStage& GptReplica::allocate(int slots, kernels::Device& device) {
  const int on_device =
      layout_.slot_room_of_stage[static_cast<std::size_t>(coordinates_.pipeline)].on_device(slots);
  offload_.reset();
  stage_->allocate(layout_.microbatch, on_device, layout_.most_microbatches);
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

void GptReplica::passes(const StepBatch& batch, const kernels::UpdateRule& rule, ScheduleObserver* observer) {
  if (reads_tokens()) stage_->set_batch(batch.windows);
  if (batch.microbatches > 0) pipeline_->set_microbatches(batch.microbatches);
  if (!is_alone_) return run_passes(batch.microbatches, observer);
  state_->set_rule(rule);
  if (graph_ && !observer)
    graph_->run([this, n = batch.microbatches] { run_step(n, nullptr); });
  else
    run_step(batch.microbatches, observer);
}

void GptReplica::run_passes(int microbatches, ScheduleObserver* observer) {
  reducer_->begin_step();
  state_->fetch_ahead();
  const auto ready = [this](int begin, int end) { reducer_->rows_ready(begin, end); };
  if (microbatches > 0) return pipeline_->train(ready, observer);
  state_->zero_gradients();
  ready(0, state_->shards().rows());
}

void GptReplica::run_step(int microbatches, ScheduleObserver* observer) {
  run_passes(microbatches, observer);
  reducer_->finish(all_run());
  if (observer) update_phase_.begin(*stream_);  // nobody may ask for the events of a graph
  state_->update_if_finite(stage_->losses());
  if (observer) update_phase_.end(*stream_);
}

void GptReplica::reduce() {
  if (!is_alone_) reducer_->finish(all_run());
}

void GptReplica::tell_of(int bucket) {
  if (piece_ready_ && !keeps_sums_) piece_ready_(*stream_, bucket, state_->piece(bucket));
}

void GptReplica::announce_pieces() {
  for (int b = 0; b < static_cast<int>(state_->shards().buckets().size()); ++b) tell_of(b);
}

void GptReplica::keep_sums() {
  state_->keep_own_sums();
  keeps_sums_ = true;
}

void GptReplica::add_kept_sums() {
  state_->add_kept_sums();
  keeps_sums_ = false;
  announce_pieces();
}

// Whoever was told of the last piece has waited for the stream, and who sums a loss waits for the rank that has it: this costs
// nothing more.
void GptReplica::check_sums() {
  stream_->synchronize(all_run());
  check_groups();
}

// What was computed on sums that failed to come is not used.
void GptReplica::check_groups() {
  for (comm::Communicator* group : {tensor_group_.get(), data_group_.get(), embedding_group_.get()})
    group->check();
}

void GptReplica::sum_tied() {
  if (!is_alone_) state_->sum_tied_gradient();
}

kernels::Deadline GptReplica::all_run() const { return Deadline::after_s(pipeline_->patience_s()); }

// One rank of each last stage speaks for its pipeline.
double GptReplica::loss() {
  if (!span_.has_head || coordinates_.tensor != 0) return 0;
  const std::vector<double> losses = stage_->microbatch_losses(all_run());
  return std::accumulate(losses.begin(), losses.end(), 0.0);
}

// All that is asked for stands behind the passes before the host waits for any of it. Then streams have nothing to do.
StepSums GptReplica::norm() {
  if (!is_alone_) state_->start_sum_of_squares();
  const double loss = this->loss(), squares = state_->squares(all_run());
  check_groups();
  device().reclaim_memory();
  return {loss, squares};
}

void GptReplica::update(const kernels::UpdateRule& rule, double squares) {
  if (is_alone_) return;  // it stands behind the passes already
  update_phase_.begin(*stream_);
  state_->start_update(rule, squares);
}

void GptReplica::gather() {
  if (is_alone_) return;
  state_->finish_update(Deadline::after_s(deadline_s_));
  update_phase_.end(*stream_);
}

Replica::Evaluation GptReplica::evaluate(const StepBatch& batch, const Riders& riders) {
  if (reads_tokens()) stage_->set_batch(batch.windows);
  pipeline_->set_microbatches(batch.microbatches);
  std::vector<double> sums;  // of losses, of ranks on which they do not count, and of the riders
  do {
    pipeline_->evaluate();
    sums = {loss(), pipeline_->is_void() ? 1.0 : 0.0};
    check_sums();  // also those of weights that the last update gathered
    const std::vector<double> own = riders();
    sums.insert(sums.end(), own.begin(), own.end());
    sum_over_ranks(sums);
  } while (sums[1] > 0);
  return {.loss = sums[0], .riders = {sums.begin() + 2, sums.end()}};
}

}  // namespace tenax::parallel
