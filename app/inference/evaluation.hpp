// How well a checkpoint's model predicts a token file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "app/inference/checkpoint_model.hpp"
#include "io/tokens/token_file.hpp"

namespace tenax::app {

struct Evaluation {
  std::int64_t tokens = 0;            ///< scored: all of the file but the first
  double loss_sum = 0;                ///< cross entropy, nats
  std::optional<std::int64_t> bytes;  ///< that the scored tokens stand for, where that is known
  double seconds = 0;                 ///< what the passes took

  double loss() const { return loss_sum / static_cast<double>(tokens); }
  double perplexity() const;
  std::optional<double> bits_per_byte() const;
};

/// What evaluate() shall do besides the model and the text.
struct EvaluationOptions {
  std::int64_t batch = 1;  ///< windows at a time
  std::span<const std::int64_t>
      bytes_of_token;  ///< the length of each token's text; empty where it is not known
  std::function<void(std::int64_t)> progress =
      nullptr;  ///< told the tokens scored so far, by the calling thread
};

/// Scores every token but the first once, in windows of seq_length as training cuts them in its
/// sequential order, and a shorter one for the rest. A token sees what is before it in its window.
///
/// The passes are those of training's evaluation: on the same device, in the same type and with the
/// same batch (micro_batch_size) losses are the same bit for bit. Threads take batch after batch,
/// one core each: model.threads(), as far as there are batches and memory for them. Their number
/// does not change results.
Evaluation evaluate(CheckpointModel& model, const io::TokenFile& file, const EvaluationOptions& options);

}  // namespace tenax::app
