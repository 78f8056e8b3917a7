#include "parallel/state/training_state.hpp"

#include <algorithm>
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

std::shared_ptr<kernels::Buffer> given_or_new(const std::shared_ptr<kernels::Buffer>& given,
                                              kernels::Device& device, std::size_t bytes) {
  assert(!given || given->bytes() >= bytes);
  return given ? given : device.allocate(bytes);
}

}  // namespace

StateReuse plan_reuse(const StateMemory& has, const StateMemory& needs) {
  if (has.gradients >= needs.weights && has.weights >= needs.gradients) return StateReuse::both;
  return has.gradients >= needs.gradients ? StateReuse::gradients : StateReuse::nothing;
}

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

StateMemory TrainingState::plan_memory(const ShardMap& shards, DType compute_dtype,
                                       const Optimizer& optimizer, SumMemory sum_memory) {
  const std::size_t sum_bytes = bytes_of(kernels::accumulation_of(compute_dtype));
  const auto whole = static_cast<std::size_t>(shards.padded_size());
  const auto shard = static_cast<std::size_t>(shards.shard_size());
  const std::size_t master_bytes = has_separate_master(compute_dtype) ? sum_bytes : 0;
  return {.weights = whole * bytes_of(compute_dtype),
          .gradients = (whole + (sum_memory == SumMemory::apart ? shard : 0)) * sum_bytes,
          .optimizer = shard * (optimizer.bytes_per_weight(compute_dtype) + master_bytes)};
}

TrainingState::TrainingState(model::ParameterTable& table, DType compute_dtype, const Optimizer& optimizer,
                             comm::Communicator& data_group, comm::Communicator& embedding_group,
                             kernels::Device& device, kernels::Stream& stream, SumMemory sum_memory,
                             const StateBuffers& given, OptimizerHome home)
    : table_(table),
      optimizer_(optimizer),
      data_group_(data_group),
      embedding_group_(embedding_group),
      kernels_(device.kernels()),
      stream_(stream),
      shards_(plan_shards(table, compute_dtype, data_group.size())) {
  table.place(shards_.row_offsets());
  const DType sums = kernels::accumulation_of(compute_dtype);
  const std::int64_t whole = shards_.padded_size(), shard = shards_.shard_size();
  const std::size_t shard_bytes = static_cast<std::size_t>(shard) * bytes_of(sums);
  const StateMemory memory = plan_memory(shards_, compute_dtype, optimizer);
  weight_memory_ = given_or_new(given.weights, device, memory.weights);
  gradient_memory_ = sum_memory == SumMemory::in_place
                         ? given_or_new(given.gradients, device, memory.gradients)
                         : allocate_pieces(device, memory.gradients);
  const bool is_home = home == OptimizerHome::device;
  optimizer_memory_ = is_home ? given_or_new(given.optimizer, device, memory.optimizer)
                              : device.allocate(memory.optimizer, kernels::MemoryKind::pinned_host);
  spare_memory_ = given.spare;
  weights_ = weight_memory_->tensor(compute_dtype, {whole});
  gradients_ = gradient_memory_->tensor(sums, {whole});
  if (sum_memory == SumMemory::apart) {
    sum_memory_ = allocate_pieces(device, shard_bytes);
    sum_shard_ = sum_memory_->tensor(sums, {shard});
  }
  for (std::size_t i = 0; i < optimizer.moments.size(); ++i)
    moment_shards_.push_back(optimizer_memory_->tensor(sums, {shard}, i * shard_bytes));
  if (has_separate_master(compute_dtype))
    master_shard_ = optimizer_memory_->tensor(sums, {shard}, optimizer.moments.size() * shard_bytes);
  step_memory_ = device.allocate(sizeof(kernels::UpdateStep), kernels::MemoryKind::pinned_host);
  step_ = new (step_memory_->data()) kernels::UpdateStep({});
  coefficient_memory_ = device.allocate(kernels::kUpdateCoefficients * bytes_of(sums));
  coefficients_ = coefficient_memory_->tensor(sums, {kernels::kUpdateCoefficients});
  collect_owned();
  collect_stretches();
  if (!is_home) offload_ = std::make_unique<OffloadedOptimizer>(device, stream, homes());
}

std::size_t TrainingState::plan_offload(const ShardMap& shards, DType compute_dtype,
                                        const Optimizer& optimizer) {
  std::int64_t most = 0;
  for (const Bucket& bucket : shards.buckets()) most = std::max(most, shards.owned_piece(bucket, 0).count);
  const std::size_t masters =
      has_separate_master(compute_dtype) ? bytes_of(kernels::accumulation_of(compute_dtype)) : 0;
  return OffloadedOptimizer::device_bytes(
      shards.buckets().size(),
      static_cast<std::size_t>(most) * (optimizer.bytes_per_weight(compute_dtype) + masters));
}

// Moments, then masters.
std::vector<std::vector<Tensor>> TrainingState::homes() const {
  std::vector<Tensor> shards = moment_shards_;
  if (master_shard_) shards.push_back(master_shard_);
  std::vector<std::vector<Tensor>> homes;
  for (const Bucket& bucket : shards_.buckets()) {
    const OwnedPiece piece = shards_.owned_piece(bucket, data_group_.rank());
    auto& parts = homes.emplace_back();
    for (const Tensor& shard : shards) parts.push_back(shard.part(piece.shard_offset, {piece.count}));
  }
  return homes;
}

std::shared_ptr<kernels::Buffer> TrainingState::allocate_pieces(kernels::Device& device, std::size_t bytes) {
  if (!device.has_data() || !device.is_host_memory()) return device.allocate(bytes);
  auto memory = comm::SharedMemory::create(bytes);
  shared_memory_.push_back(memory);
  return memory;
}

StateBuffers TrainingState::buffers_for(const StateMemory& needs) const {
  const StateMemory has = {weight_memory_->bytes(), gradient_memory_->bytes(), optimizer_memory_->bytes()};
  StateBuffers given;
  if (spare_memory_ && spare_memory_->bytes() >= needs.optimizer) {
    given.optimizer = spare_memory_;
    if (optimizer_memory_->bytes() >= spare_memory_->bytes()) given.spare = optimizer_memory_;
  }
  const StateReuse reuse = plan_reuse(has, needs);
  if (reuse != StateReuse::nothing) given.gradients = gradient_memory_;
  if (reuse == StateReuse::both) {
    given.weights = gradient_memory_;
    given.gradients = weight_memory_;
  }
  return given;
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
        const Tensor weights = weights_.part(flat, {range.count});
        OwnedState state{
            .row = row,
            .row_begin = range.row_begin,
            .count = range.count,
            .master = master_shard_ ? master_shard_.part(range.shard_offset, {range.count}) : weights,
            .gradient = sum_shard_ ? sum_shard_.part(range.shard_offset, {range.count})
                                   : gradients_.part(flat, {range.count}),
            .moments = {},
            .compute = master_shard_ ? weights : Tensor{}};
        for (const Tensor& shard : moment_shards_)
          state.moments.push_back(shard.part(range.shard_offset, {range.count}));
        owned_.push_back(std::move(state));
        offset_in_piece_.push_back(range.shard_offset - piece.shard_offset);
      }
    }
    owned_of_bucket_.emplace_back(first, owned_.size());
  }
}

void TrainingState::collect_stretches() {
  for (const OwnedState& state : owned_) {
    const model::ParameterRow& row = table_.row(state.row);
    stretches_.push_back({.master = state.master,
                          .gradient = state.gradient,
                          .moments = {},
                          .compute = state.compute,
                          .decays = row.decays(),
                          .first_element = shards_.row_offset(state.row) + state.row_begin});
    std::copy(state.moments.begin(), state.moments.end(), stretches_.back().moments.begin());
    if (row.counted_elsewhere) continue;
    counted_.push_back(state.gradient);
    if (shared_memory_.empty()) continue;
    squares_of_rows_.push_back({state.row, 0});
    own_counted_.push_back(own_gradient(state));
  }
}

GradientPiece TrainingState::piece(int bucket) const {
  const OwnedPiece owned =
      shards_.owned_piece(shards_.buckets()[static_cast<std::size_t>(bucket)], data_group_.rank());
  const Tensor own = gradients_.part(owned.flat_begin, {owned.count});
  return {own, sum_shard_ ? sum_shard_.part(owned.shard_offset, {owned.count}) : own};
}

void TrainingState::zero_gradients() { kernels_.zero(stream_, gradients_); }

void TrainingState::keep_own_sums() {
  assert(sum_shard_);
  for (int b = 0; b < static_cast<int>(shards_.buckets().size()); ++b)
    kernels_.copy(stream_, piece(b).own, piece(b).sum);
}

void TrainingState::add_kept_sums() {
  assert(sum_shard_);
  for (int b = 0; b < static_cast<int>(shards_.buckets().size()); ++b)
    kernels_.add(stream_, piece(b).sum, piece(b).own);
}

void TrainingState::sum_tied_gradient() {
  if (embedding_group_.size() == 1) return;
  for (const OwnedState& state : owned_)
    if (table_.row(state.row).name == "wte.weight")
      embedding_group_.all_reduce(stream_, state.gradient, comm::ReduceOp::sum);
}

// On a host, the sum over all of them is that of the sums of each, to the last bit.
void TrainingState::start_sum_of_squares() {
  if (squares_of_rows_.empty()) return kernels_.sum_of_squares(stream_, {counted_, &step_->squares});
  for (std::size_t i = 0; i < counted_.size(); ++i)
    kernels_.sum_of_squares(stream_, {std::span(&counted_[i], 1), &squares_of_rows_[i].squares});
}

const std::vector<RowSquares>& TrainingState::own_squares_of_rows(kernels::Deadline deadline) {
  own_squares_of_rows_ = squares_of_rows_;
  for (std::size_t i = 0; i < own_counted_.size(); ++i)
    kernels_.sum_of_squares(stream_, {std::span(&own_counted_[i], 1), &own_squares_of_rows_[i].squares});
  stream_.synchronize(deadline);
  return own_squares_of_rows_;
}

double TrainingState::squares(kernels::Deadline deadline) {
  stream_.synchronize(deadline);
  if (!squares_of_rows_.empty()) {
    step_->squares = 0;
    for (const RowSquares& row : squares_of_rows_) step_->squares += row.squares;
  }
  return step_->squares;
}

template <class Prepare>
void TrainingState::start_gather(Prepare prepare) {
  for (std::size_t b = 0; b < shards_.buckets().size(); ++b) {
    prepare(b);
    const Bucket& bucket = shards_.buckets()[b];
    gathers_.push_back(data_group_.start_all_gather(stream_, weights_.part(bucket.begin, {bucket.count})));
    for (const comm::TransferPtr& gather : gathers_) gather->done();
  }
}

void TrainingState::finish_update(kernels::Deadline deadline) {
  for (const comm::TransferPtr& gather : std::exchange(gathers_, {})) gather->order_before(stream_, deadline);
}

void TrainingState::set_rule(const kernels::UpdateRule& rule) { *step_ = kernels::UpdateStep(rule); }

void TrainingState::enqueue_update(std::span<const kernels::UpdateStretch> stretches) {
  (kernels_.*optimizer_.update)(stream_, {stretches, coefficients_});
}

// All stretches together where there is no all-gather that could begin with the first ones.
void TrainingState::apply_rule() {
  kernels_.update_coefficients(stream_, {step_, coefficients_});
  if (data_group_.size() > 1) return start_gather([this](std::size_t bucket) { update_bucket(bucket); });
  if (!offload_) return enqueue_update(stretches_);
  for (std::size_t bucket = 0; bucket < owned_of_bucket_.size(); ++bucket) update_bucket(bucket);
}

void TrainingState::update_bucket(std::size_t bucket) {
  const auto [begin, end] = owned_of_bucket_[bucket];
  if (!offload_) return enqueue_update(std::span(stretches_).subspan(begin, end - begin));
  const std::vector<Tensor>& parts = offload_->bring(bucket);
  std::vector<kernels::UpdateStretch> here;
  for (std::size_t i = begin; i < end; ++i) {
    const auto part = [&](std::size_t p) { return parts[p].part(offset_in_piece_[i], {owned_[i].count}); };
    kernels::UpdateStretch& stretch = here.emplace_back(stretches_[i]);
    for (std::size_t m = 0; m < moment_shards_.size(); ++m) stretch.moments[m] = part(m);
    if (master_shard_) stretch.master = part(moment_shards_.size());
  }
  enqueue_update(here);
  offload_->take_back(bucket);
}

void TrainingState::start_update(const kernels::UpdateRule& rule, double squares) {
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
  start_gather([&](std::size_t bucket) {
    const auto [begin, end] = owned_of_bucket_[bucket];
    for (const OwnedState& state : std::span(owned_).subspan(begin, end - begin))
      if (state.compute) kernels_.cast(stream_, state.master, state.compute);
  });
  finish_update(deadline);
}

}  // namespace tenax::parallel
