#include "app/evaluation.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "model/gpt_stage.hpp"

namespace tenax::app {

namespace {

constexpr double kDeadline_s = 3600;  // of one batch

/// Without a backward pass, blocks may share what they would recompute for it.
model::GptConfig forward_only(model::GptConfig config) {
  config.recomputes = true;
  return config;
}

/// A whole model that computes losses of batches of windows.
class Scorer {
 public:
  Scorer(CheckpointModel& model, model::MicrobatchShape largest)
      : stage_(forward_only(model.config()), {0, model.config().num_layers, true, true}, model.alone(),
               model.device(), model.stream()),
        shape_(largest) {
    stage_.bind(model.load(stage_.parameters()), {});
    stage_.allocate(largest, 1, 1);
  }

  /// Windows of shape.length + 1 tokens. Returns the sum of their losses.
  double score(std::span<const std::int32_t> windows, model::MicrobatchShape shape) {
    if (shape.sequences != shape_.sequences || shape.length != shape_.length) stage_.set_shape(shape);
    shape_ = shape;
    stage_.set_batch(windows);
    stage_.forward(0, 0);
    return stage_.microbatch_losses(kernels::Deadline::after_s(kDeadline_s)).front();
  }

 private:
  model::GptStage stage_;
  model::MicrobatchShape shape_;
};

/// What the targets of the windows stand for; nothing if a token is not in the table.
std::optional<std::int64_t> count_bytes(std::span<const std::int32_t> windows, std::int64_t length,
                                        std::span<const std::int64_t> bytes_of_token) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    if (static_cast<std::int64_t>(i) % (length + 1) == 0) continue;
    const auto token = static_cast<std::size_t>(windows[i]);
    if (token >= bytes_of_token.size()) return {};
    bytes += bytes_of_token[token];
  }
  return bytes;
}

}  // namespace

double Evaluation::perplexity() const { return std::exp(loss()); }

std::optional<double> Evaluation::bits_per_byte() const {
  if (!bytes) return {};
  return loss_sum / std::log(2.0) / static_cast<double>(*bytes);
}

Evaluation evaluate(CheckpointModel& model, const io::TokenFile& file, std::int64_t batch,
                    std::span<const std::int64_t> bytes_of_token) {
  const std::int64_t targets = file.size() - 1, length = std::min(model.config().seq_length, targets);
  batch = std::min(batch, targets / length);
  Scorer scorer(model, {batch, length});
  const auto begin = std::chrono::steady_clock::now();
  Evaluation result;
  result.bytes = 0;
  std::vector<std::int32_t> windows;
  while (result.tokens < targets) {
    const std::int64_t left = targets - result.tokens;
    const model::MicrobatchShape shape = left < length
                                             ? model::MicrobatchShape{1, left}
                                             : model::MicrobatchShape{std::min(batch, left / length), length};
    windows.resize(static_cast<std::size_t>(shape.sequences * (shape.length + 1)));
    for (std::int64_t s = 0; s < shape.sequences; ++s)
      file.read(result.tokens + s * shape.length,
                std::span(windows).subspan(static_cast<std::size_t>(s * (shape.length + 1)),
                                           static_cast<std::size_t>(shape.length + 1)));
    result.loss_sum += scorer.score(windows, shape);
    const auto bytes = count_bytes(windows, shape.length, bytes_of_token);
    result.bytes = bytes && result.bytes ? std::optional(*result.bytes + *bytes) : std::nullopt;
    result.tokens += shape.rows();
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

}  // namespace tenax::app
