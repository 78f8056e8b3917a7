#include "parallel/training_state.hpp"

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
  collect_owned();
  norm_memory_ = device.allocate((owned_.size() + 1) * sizeof(double), kernels::MemoryKind::pinned_host);
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

void TrainingState::sum_tied_gradient() {
  if (embedding_group_.size() == 1) return;
  for (const OwnedState& state : owned_)
    if (table_.row(state.row).name == "wte.weight")
      embedding_group_.all_reduce(stream_, state.gradient, comm::ReduceOp::sum);
}

double TrainingState::sum_of_squares(kernels::Deadline deadline) {
  auto* results = static_cast<double*>(norm_memory_->data());
  std::size_t used = 0;
  for (const OwnedState& state : owned_)
    if (!table_.row(state.row).counted_elsewhere)
      kernels_.sum_of_squares(stream_, {state.gradient, &results[used++]});
  stream_.synchronize(deadline);
  double sum = 0;
  for (std::size_t i = 0; i < used; ++i) sum += results[i];
  return sum;
}

template <class Prepare>
void TrainingState::gather_buckets(kernels::Deadline deadline, Prepare prepare) {
  std::vector<comm::TransferPtr> transfers;
  for (std::size_t b = 0; b < shards_.buckets().size(); ++b) {
    for (std::size_t i = owned_of_bucket_[b].first; i < owned_of_bucket_[b].second; ++i) prepare(owned_[i]);
    const Bucket& bucket = shards_.buckets()[b];
    transfers.push_back(data_group_.start_all_gather(stream_, weights_.part(bucket.begin, {bucket.count})));
    for (const comm::TransferPtr& transfer : transfers) transfer->done();
  }
  for (const comm::TransferPtr& transfer : transfers) transfer->order_before(stream_, deadline);
}

void TrainingState::update(const AdamWSettings& settings, double learning_rate, std::int64_t step,
                           double gradient_scale, kernels::Deadline deadline) {
  gather_buckets(deadline, [&](const OwnedState& state) {
    kernels_.adamw(stream_, {.master = state.master,
                             .gradient = state.gradient,
                             .exp_avg = state.exp_avg,
                             .exp_avg_sq = state.exp_avg_sq,
                             .compute = state.compute,
                             .learning_rate = learning_rate,
                             .beta1 = settings.beta1,
                             .beta2 = settings.beta2,
                             .epsilon = settings.epsilon,
                             .weight_decay = table_.row(state.row).decays() ? settings.weight_decay : 0.0,
                             .gradient_scale = gradient_scale,
                             .step = step,
                             .first_element = shards_.row_offset(state.row) + state.row_begin});
  });
}

void TrainingState::publish_weights(kernels::Deadline deadline) {
  gather_buckets(deadline, [&](const OwnedState& state) {
    if (state.compute) kernels_.cast(stream_, state.master, state.compute);
  });
}

}  // namespace tenax::parallel
