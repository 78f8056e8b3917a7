#include "model/gpt_scorer.hpp"

#include <algorithm>

#include "model/embedding.hpp"

namespace tenax::model {

using kernels::DType;
using kernels::MemoryKind;
using kernels::Tensor;

GptScorer::GptScorer(const GptConfig& config, comm::Communicator& alone, kernels::Device& device,
                     kernels::Stream& stream, MicrobatchShape largest)
    : device_(device), stream_(stream), gpt_(config, alone, device.kernels()) {
  Arena measure;
  const Pass pass = Pass::take(measure, config, largest);
  memory_ = device.allocate(bytes(config, largest));
  token_staging_ = device.allocate(pass.tokens.bytes(), MemoryKind::pinned_host);
  loss_staging_ = device.allocate(pass.losses.bytes(), MemoryKind::pinned_host);
}

std::size_t GptScorer::bytes(const GptConfig& config, MicrobatchShape largest) {
  Arena measure;
  const Pass pass = Pass::take(measure, config, largest);
  // Chunks of logits are equal: fewer rows may have larger ones (260 rows two of 130, 256 rows one).
  const std::int64_t most = std::min<std::int64_t>(largest.rows(), config.logit_rows);
  if (pass.forward.head_scratch.logits.rows() < most) HeadScratch::take(measure, config, 1, {1, most});
  return measure.used();
}

GptScorer::Pass GptScorer::Pass::take(Arena& arena, const GptConfig& config, MicrobatchShape shape) {
  const std::int64_t rows = shape.rows();
  Pass pass;
  pass.forward = ForwardPass::take(arena, config, shape, rows);
  pass.tokens = arena.take(DType::i32, {2, rows});
  pass.losses = arena.take(kernels::accumulation_of(config.compute_dtype), {rows});
  return pass;
}

// The stream is empty when it returns, so that the staging memory may be used again.
double GptScorer::score(std::span<const std::int32_t> windows, MicrobatchShape shape,
                        kernels::Deadline deadline) {
  const std::int64_t rows = shape.rows();
  assert(static_cast<std::int64_t>(windows.size()) == rows + shape.sequences);
  kernels::Kernels& kernels = device_.kernels();
  Arena arena(*memory_);
  Pass pass = Pass::take(arena, gpt_.config, shape);
  ForwardPass& forward = pass.forward;

  const Tensor staging = token_staging_->tensor(DType::i32, {2, rows});
  split_windows(windows, shape.length, staging.as<std::int32_t>(), staging.as<std::int32_t>() + rows);
  kernels.copy(stream_, staging, pass.tokens);
  gpt_.embedding.forward(stream_, pass.tokens.part(0, {shape.sequences, shape.length}), forward.x);
  for (TransformerBlock& block : gpt_.blocks) block.forward(stream_, shape, forward.block, forward.scratch);
  gpt_.head.forward(stream_, forward.x, pass.tokens.part(rows, {rows}), forward.head, forward.head_scratch,
                    pass.losses, ForwardGradients::none);

  const Tensor losses = loss_staging_->tensor(pass.losses.dtype, {rows});
  kernels.copy(stream_, pass.losses, losses);
  stream_.synchronize(deadline);
  double sum = 0;
  for (std::int64_t row = 0; row < rows; ++row) sum += static_cast<double>(losses.as<float>()[row]);
  return sum;
}

}  // namespace tenax::model
