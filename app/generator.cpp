#include "app/generator.hpp"

#include <algorithm>

#include "resilience/checkpoint_restore.hpp"

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

Generator::Generator(const std::filesystem::path& checkpoint)
    : worlds_(comm::create_thread_worlds(1, {kDeadline_s})), device_(kernels::create_cpu_device()) {
  const auto control = worlds_.front()->control_group();
  resilience::CheckpointReader reader(*control, checkpoint);
  config_ = config_of(reader.info().model);
  stream_ = device_->create_stream();
  alone_ = worlds_.front()->split_communicator("tensor", 0, 0, *device_);
  stage_ = std::make_unique<model::GptStage>(config_, model::StageSpan{0, config_.num_layers, true, true},
                                             *alone_, *device_, *stream_);
  model::ParameterTable& table = stage_->parameters();
  const parallel::ShardMap shards = parallel::TrainingState::plan_shards(table, config_.compute_dtype, 1);
  table.place(shards.row_offsets());
  weights_ =
      device_->allocate(static_cast<std::size_t>(shards.padded_size()) * bytes_of(config_.compute_dtype));
  const Tensor weights = weights_->tensor(config_.compute_dtype, {shards.padded_size()});
  stage_->bind(weights, {});

  std::vector<io::StateRange> ranges;
  for (const model::ParameterRow& row : table.rows()) {
    io::StateRange range;
    range.name = row.name;
    range.layout = row.layout;
    range.count = row.size();
    range.master = weights.as<float>() + row.offset;
    ranges.push_back(range);
  }
  reader.read(ranges);
  stage_->allocate({1, config_.seq_length}, 1, 1);
}

Generator::~Generator() = default;

void Generator::generate(std::vector<std::int32_t>& tokens, std::int64_t count,
                         const model::SamplerSettings& settings, std::uint64_t seed, std::int64_t sample,
                         const std::function<void(std::int32_t)>& emit) {
  const kernels::CounterRandom random(seed, "sample " + std::to_string(sample));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::vector<float> logits = next_logits(tokens);
    tokens.push_back(model::sample_token(logits, settings, random.uniform(static_cast<std::uint64_t>(i))));
    emit(tokens.back());
  }
}

std::vector<float> Generator::next_logits(const std::vector<std::int32_t>& tokens) {
  assert(!tokens.empty());
  // Lengths are rounded up, so that few shapes have to be prepared; attention is causal, so what stands behind the
  // last real token does not matter.
  constexpr std::int64_t kLengthUnit = 32;
  const std::int64_t seen =
      std::min<std::int64_t>(static_cast<std::int64_t>(tokens.size()), config_.seq_length);
  const std::int64_t length =
      std::min((seen + kLengthUnit - 1) / kLengthUnit * kLengthUnit, config_.seq_length);
  if (length != length_) stage_->set_shape({1, length});
  length_ = length;
  std::vector<std::int32_t> window(static_cast<std::size_t>(length + 1), 0);
  std::copy(tokens.end() - seen, tokens.end(), window.begin());
  stage_->set_batch(window);
  stage_->forward_blocks(0, 0);
  const Tensor logits = stage_->row_logits(0, seen - 1);
  stream_->synchronize(kernels::Deadline::after_s(kDeadline_s));
  const auto* values = logits.as<float>();
  return {values, values + config_.vocab_size};
}

}  // namespace tenax::app
