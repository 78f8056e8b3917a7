#include "app/checkpoint_model.hpp"

#include "parallel/training_state.hpp"

namespace tenax::app {

using kernels::DType;
using kernels::Tensor;

namespace {

constexpr double kDeadline_s = 600;

model::GptConfig config_of(const io::ModelSizes& sizes) {
  return {
      sizes.num_layers, sizes.hidden_size, sizes.num_attention_heads, sizes.ffn_hidden_size, sizes.seq_length,
      sizes.vocab_size, DType::f32};
}

}  // namespace

CheckpointModel::CheckpointModel(const std::filesystem::path& checkpoint)
    : worlds_(comm::create_thread_worlds(1, {kDeadline_s})),
      control_(worlds_.front()->control_group()),
      reader_(*control_, checkpoint),
      config_(config_of(reader_.info().model)),
      device_(kernels::create_cpu_device()),
      stream_(device_->create_stream()),
      alone_(worlds_.front()->split_communicator("tensor", 0, 0, *device_)) {}

Tensor CheckpointModel::load(model::ParameterTable& table) {
  assert(!weights_);
  const parallel::ShardMap shards = parallel::TrainingState::plan_shards(table, config_.compute_dtype, 1);
  table.place(shards.row_offsets());
  weights_ = device_->allocate(static_cast<std::size_t>(shards.padded_size()) * sizeof(float));
  const Tensor weights = weights_->tensor(DType::f32, {shards.padded_size()});
  std::vector<io::StateRange> ranges;
  for (const model::ParameterRow& row : table.rows()) {
    io::StateRange range;
    range.name = row.name;
    range.layout = row.layout;
    range.count = row.size();
    range.master = weights.as<float>() + row.offset;
    ranges.push_back(range);
  }
  reader_.read(ranges);
  return weights;
}

}  // namespace tenax::app
