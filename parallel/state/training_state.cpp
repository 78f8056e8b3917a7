#include "parallel/state/training_state.hpp"

#include <new>
#include <span>
#include <utility>

namespace tenax::parallel {

using kernels::DType;
using kernels::Tensor;

namespace {

// Big enough that a message's latency does not show, small enough that the first bucket leaves early.
constexpr std::int64_t kBucketBytes = 8 << 20;

bool has_separate_master(DType compute) { return compute != kernels::accumulation_of(compute); }

}  // namespace

ShardMap TrainingState::plan_shards(const model::ParameterTable& table, DType compute_dtype, int data_size) {
  std::vector<ShardRow> rows;
  bool after_tied = false;
  for (const model::ParameterRow& row : table.rows()) {
    // Boundaries around wte give first and last stage equal cuts of it, so that its shards can be summed.
    const bool tied = row.name == "wte.weight";
    rows.push_back({row.size(), tied || after_tied});
    after_tied = tied;
  }
  return ShardMap(rows, kBucketBytes,
                  static_cast<std::int64_t>(bytes_of(kernels::accumulation_of(compute_dtype))), data_size);
}

StateMemory TrainingState::plan_memory(const ShardMap& shards, DType compute_dtype) {
  const std::size_t sum_bytes = bytes_of(kernels::accumulation_of(compute_dtype));
  const auto whole = static_cast<std::size_t>(shards.padded_size());
  const auto shard = static_cast<std::size_t>(shards.shard_size());
  return {whole * bytes_of(compute_dtype), whole * sum_bytes,
          shard * sum_bytes * (has_separate_master(compute_dtype) ? 3 : 2)};
}

TrainingState::TrainingState(model::ParameterTable& table, DType compute_dtype,
                             comm::Communicator& data_group, comm::Communicator& embedding_group,
                             kernels::Device& device, kernels::Stream& stream)
    : table_(table),
      data_group_(data_group),
      embedding_group_(embedding_group),
      kernels_(device.kernels()),
      stream_(stream),
      shards_(plan_shards(table, compute_dtype, data_group.size())) {
  table.place(shards_.row_offsets());
  const StateMemory memory = plan_memory(shards_, compute_dtype);
  const DType sums = kernels::accumulation_of(compute_dtype);
  const std::int64_t whole = shards_.padded_size(), shard = shards_.shard_size();
  const std::size_t shard_bytes = static_cast<std::size_t>(shard) * bytes_of(sums);
  weight_memory_ = device.allocate(memory.weights);
  gradient_memory_ = device.allocate(memory.gradients);
  optimizer_memory_ = device.allocate(memory.optimizer);
  weights_ = weight_memory_->tensor(compute_dtype, {whole});
  gradients_ = gradient_memory_->tensor(sums, {whole});
  exp_avg_ = optimizer_memory_->tensor(sums, {shard});
  exp_avg_sq_ = optimizer_memory_->tensor(sums, {shard}, shard_bytes);
  if (has_separate_master(compute_dtype))
    master_shard_ = optimizer_memory_->tensor(sums, {shard}, 2 * shard_bytes);
  step_memory_ = device.allocate(sizeof(kernels::AdamWStep), kernels::MemoryKind::pinned_host);
  step_ = new (step_memory_->data()) kernels::AdamWStep({});
  coefficient_memory_ = device.allocate(kernels::kAdamWCoefficients * bytes_of(sums));
  coefficients_ = coefficient_memory_->tensor(sums, {kernels::kAdamWCoefficients});
  collect_owned();
  collect_stretches();
}

void TrainingState::collect_owned() {
  for (const Bucket& bucket : shards_.buckets()) {
    const OwnedPiece piece = shards_.owned_piece(bucket, data_group_.rank());
    const std::size_t first = owned_.size();
    for (int row = bucket.first_row; row < bucket.end_row; ++row) {
      for (const OwnedRange& range : shards_.owned_ranges(row, data_group_.rank())) {
        // A row larger than a bucket has ranges in several; take those of this one.
        if (range.shard_offset < piece.shard_offset || range.shard_offset >= piece.shard_offset + piece.count)
          continue;
        const std::int64_t flat = shards_.row_offset(row) + range.row_begin;
        OwnedState state{row,
                         range.row_begin,
                         range.count,
                         {},
                         gradients_.part(flat, {range.count}),
                         exp_avg_.part(range.shard_offset, {range.count}),
                         exp_avg_sq_.part(range.shard_offset, {range.count}),
                         {}};
        const Tensor weights = weights_.part(flat, {range.count});
        state.master = master_shard_ ? master_shard_.part(range.shard_offset, {range.count}) : weights;
        if (master_shard_) state.compute = weights;
        owned_.push_back(state);
      }
    }
    owned_of_bucket_.emplace_back(first, owned_.size());
  }
}

void TrainingState::collect_stretches() {
  for (const OwnedState& state : owned_) {
    const model::ParameterRow& row = table_.row(state.row);
    stretches_.push_back({state.master, state.gradient, state.exp_avg, state.exp_avg_sq, state.compute,
                          row.decays(), shards_.row_offset(state.row) + state.row_begin});
    if (!row.counted_elsewhere) counted_.push_back(state.gradient);
  }
}

void TrainingState::sum_tied_gradient() {
  if (embedding_group_.size() == 1) return;
  for (const OwnedState& state : owned_)
    if (table_.row(state.row).name == "wte.weight")
      embedding_group_.all_reduce(stream_, state.gradient, comm::ReduceOp::sum);
}

void TrainingState::start_sum_of_squares() { kernels_.sum_of_squares(stream_, {counted_, &step_->squares}); }

double TrainingState::squares(kernels::Deadline deadline) {
  stream_.synchronize(deadline);
  return step_->squares;
}

template <class Prepare>
void TrainingState::start_gather(Prepare prepare) {
  for (std::size_t b = 0; b < shards_.buckets().size(); ++b) {
    prepare(owned_of_bucket_[b].first, owned_of_bucket_[b].second);
    const Bucket& bucket = shards_.buckets()[b];
    gathers_.push_back(data_group_.start_all_gather(stream_, weights_.part(bucket.begin, {bucket.count})));
    for (const comm::TransferPtr& gather : gathers_) gather->done();
  }
}

void TrainingState::finish_update(kernels::Deadline deadline) {
  for (const comm::TransferPtr& gather : std::exchange(gathers_, {})) gather->order_before(stream_, deadline);
}

void TrainingState::set_rule(const kernels::AdamWRule& rule) { *step_ = kernels::AdamWStep(rule); }

// All stretches together where there is no all-gather that could begin with the first ones.
void TrainingState::apply_rule() {
  kernels_.adamw_coefficients(stream_, {step_, coefficients_});
  if (data_group_.size() == 1) return kernels_.adamw(stream_, {stretches_, coefficients_});
  start_gather([&](std::size_t begin, std::size_t end) {
    kernels_.adamw(stream_, {std::span(stretches_).subspan(begin, end - begin), coefficients_});
  });
}

void TrainingState::start_update(const kernels::AdamWRule& rule, double squares) {
  set_rule(rule);
  step_->squares = squares;
  apply_rule();
}

void TrainingState::update_if_finite(const Tensor& losses) {
  start_sum_of_squares();
  kernels_.sum_of_squares(stream_, {std::span(&losses, 1), &step_->loss_squares});
  apply_rule();
}

void TrainingState::publish_weights(kernels::Deadline deadline) {
  start_gather([&](std::size_t begin, std::size_t end) {
    for (const OwnedState& state : std::span(owned_).subspan(begin, end - begin))
      if (state.compute) kernels_.cast(stream_, state.master, state.compute);
  });
  finish_update(deadline);
}

}  // namespace tenax::parallel
