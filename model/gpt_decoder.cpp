#include "model/gpt_decoder.hpp"

#include <algorithm>

namespace tenax::model {

using kernels::DType;
using kernels::MemoryKind;
using kernels::Tensor;

GptDecoder::GptDecoder(const GptConfig& config, comm::Communicator& alone, kernels::Device& device,
                       kernels::Stream& stream)
    : device_(device),
      stream_(stream),
      gpt_(config, alone, device.kernels()),
      tokens_copied_(device.create_event()) {
  const std::int64_t values = config.num_layers * config.seq_length * 3 * config.hidden_size;
  cache_ = device.allocate(static_cast<std::size_t>(values) * kernels::bytes_of(config.compute_dtype));
  Arena measure;
  ForwardPass::take(measure, config, {1, config.seq_length}, 1);
  activations_ = device.allocate(measure.used());
  const std::size_t token_bytes = static_cast<std::size_t>(config.seq_length) * kernels::bytes_of(DType::i32);
  tokens_ = device.allocate(token_bytes);
  token_staging_ = device.allocate(token_bytes, MemoryKind::pinned_host);
  logit_staging_ = device.allocate(static_cast<std::size_t>(config.padded_vocab_size(1)) * sizeof(float),
                                   MemoryKind::pinned_host);
}

Tensor GptDecoder::cache_of_layer(std::size_t layer) const {
  const std::int64_t rows = gpt_.config.seq_length, columns = 3 * gpt_.config.hidden_size;
  const DType dtype = gpt_.config.compute_dtype;
  return cache_->tensor(dtype, {rows, columns},
                        layer * static_cast<std::size_t>(rows * columns) * kernels::bytes_of(dtype));
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
  assert(rows > 0 && length_ + rows <= gpt_.config.seq_length);
  tokens_copied_->wait(kernels::Deadline::after_s(kTokenCopyDeadline_s));
  const Tensor staging = token_staging_->tensor(DType::i32, {1, rows}),
               on_device = tokens_->tensor(DType::i32, {1, rows});
  std::copy(tokens.begin(), tokens.end(), staging.as<std::int32_t>());
  device_.kernels().copy(stream_, staging, on_device);
  stream_.record(*tokens_copied_);

  Arena arena(*activations_);
  ForwardPass pass = ForwardPass::take(arena, gpt_.config, {1, rows}, 1);
  const std::int64_t h = gpt_.config.hidden_size, begin = length_, end = length_ + rows;
  gpt_.embedding.forward(stream_, on_device, pass.x, begin);
  for (std::size_t layer = 0; layer < gpt_.blocks.size(); ++layer) {
    const Tensor cache = cache_of_layer(layer);
    pass.block.qkv = cache.part(begin * 3 * h, {rows, 3 * h});
    if (begin == 0)
      gpt_.blocks[layer].forward(stream_, {1, rows}, pass.block, pass.scratch);
    else
      gpt_.blocks[layer].decode(stream_, cache.part(0, {end, 3 * h}), pass.block, pass.scratch);
  }
  gpt_.head.logits(stream_, pass.x.part((rows - 1) * h, {1, h}), pass.head, pass.head_scratch);
  logits_ = pass.head_scratch.logits;
  length_ = end;
}

std::span<const float> GptDecoder::logits(kernels::Deadline deadline) {
  assert(logits_);
  const Tensor host = logit_staging_->tensor(DType::f32, logits_.shape);
  device_.kernels().cast(stream_, logits_, host);
  stream_.synchronize(deadline);
  return {host.as<float>(), static_cast<std::size_t>(gpt_.config.vocab_size)};
}

}  // namespace tenax::model
