#include "model/gpt_decoder.hpp"

#include <algorithm>

namespace tenax::model {

using kernels::DType;
using kernels::MemoryKind;
using kernels::Tensor;

namespace {

constexpr double kCopyDeadline_s = 600;

std::vector<TransformerBlock> make_blocks(const GptConfig& config, comm::Communicator& alone,
                                          kernels::Kernels& kernels, ParameterTable& table) {
  std::vector<TransformerBlock> blocks;
  for (std::int64_t layer = 0; layer < config.num_layers; ++layer)
    blocks.emplace_back(config, layer, alone, kernels, table);
  return blocks;
}

}  // namespace

GptDecoder::GptDecoder(const GptConfig& config, comm::Communicator& alone, kernels::Device& device,
                       kernels::Stream& stream)
    : config_(config),
      device_(device),
      stream_(stream),
      embedding_(config, alone, device.kernels(), table_),
      blocks_(make_blocks(config, alone, device.kernels(), table_)),
      head_(config, embedding_.wte_row(), alone, device.kernels(), table_),
      tokens_copied_(device.create_event()) {
  assert(alone.size() == 1 && !config.recomputes);
  const std::int64_t values = config.num_layers * config.seq_length * 3 * config.hidden_size;
  cache_ = device.allocate(static_cast<std::size_t>(values) * kernels::bytes_of(config.compute_dtype));
  Arena measure;
  take_pass(measure, config, config.seq_length);
  activations_ = device.allocate(measure.used());
  const std::size_t token_bytes = static_cast<std::size_t>(config.seq_length) * kernels::bytes_of(DType::i32);
  tokens_ = device.allocate(token_bytes);
  token_staging_ = device.allocate(token_bytes, MemoryKind::pinned_host);
  logit_staging_ = device.allocate(static_cast<std::size_t>(config.padded_vocab_size(1)) * sizeof(float),
                                   MemoryKind::pinned_host);
}

void GptDecoder::bind(const Tensor& weights) {
  embedding_.bind(table_, weights, {});
  for (TransformerBlock& block : blocks_) block.bind(table_, weights, {});
  head_.bind(table_, weights, {});
}

GptDecoder::Pass GptDecoder::take_pass(Arena& arena, const GptConfig& config, std::int64_t rows) {
  Pass pass;
  pass.x = arena.take(config.compute_dtype, {rows, config.hidden_size});
  pass.block = BlockActivations::take(arena, config, 1, {1, rows});
  pass.block.x_in = pass.block.x_out = pass.x;
  pass.scratch = BlockScratch::take(arena, config, 1, {1, rows});
  pass.head = HeadActivations::take(arena, config, 1, {1, 1});
  return pass;
}

Tensor GptDecoder::cache_of_layer(std::size_t layer) const {
  const std::int64_t rows = config_.seq_length, columns = 3 * config_.hidden_size;
  const std::size_t bytes =
      static_cast<std::size_t>(rows * columns) * kernels::bytes_of(config_.compute_dtype);
  return cache_->tensor(config_.compute_dtype, {rows, columns}, layer * bytes);
}

void GptDecoder::start(std::span<const std::int32_t> tokens) {
  length_ = 0;
  read(tokens);
}

void GptDecoder::rewind(std::int64_t length) {
  assert(length >= 0 && length <= length_);
  length_ = length;
}

void GptDecoder::append(std::int32_t token) {
  assert(length_ > 0);
  read({&token, 1});
}

void GptDecoder::read(std::span<const std::int32_t> tokens) {
  const auto rows = static_cast<std::int64_t>(tokens.size());
  assert(rows > 0 && length_ + rows <= config_.seq_length);
  tokens_copied_->wait(kernels::Deadline::after_s(kCopyDeadline_s));
  const Tensor staging = token_staging_->tensor(DType::i32, {1, rows}),
               on_device = tokens_->tensor(DType::i32, {1, rows});
  std::copy(tokens.begin(), tokens.end(), staging.as<std::int32_t>());
  device_.kernels().copy(stream_, staging, on_device);
  stream_.record(*tokens_copied_);

  Arena arena(*activations_);
  Pass pass = take_pass(arena, config_, rows);
  const std::int64_t h = config_.hidden_size, begin = length_, end = length_ + rows;
  embedding_.forward(stream_, on_device, pass.x, begin);
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
    const Tensor cache = cache_of_layer(layer);
    pass.block.qkv = cache.part(begin * 3 * h, {rows, 3 * h});
    if (begin == 0)
      blocks_[layer].forward(stream_, {1, rows}, pass.block, pass.scratch);
    else
      blocks_[layer].decode(stream_, cache.part(0, {end, 3 * h}), pass.block, pass.scratch);
  }
  head_.logits(stream_, pass.x.part((rows - 1) * h, {1, h}), pass.head);
  logits_ = pass.head.logits;
  length_ = end;
}

std::span<const float> GptDecoder::logits(kernels::Deadline deadline) {
  assert(logits_);
  const Tensor host = logit_staging_->tensor(DType::f32, logits_.shape);
  device_.kernels().cast(stream_, logits_, host);
  stream_.synchronize(deadline);
  return {host.as<float>(), static_cast<std::size_t>(config_.vocab_size)};
}

}  // namespace tenax::model
