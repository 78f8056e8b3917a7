// Generator: continues a text with a trained model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/inference/checkpoint_model.hpp"
#include "io/deck/deck.hpp"
#include "model/gpt_decoder.hpp"
#include "model/sampler.hpp"

namespace tenax::app {

/// The model sees the last seq_length tokens, no more. Up to there a new token costs one row of
/// work (the cache of keys and values). Beyond, every token moves the window, and with it every
/// position: the whole window is computed again.
class Generator {
 public:
  /// Reads the model's weights. `model` must outlive the generator, which computes on its stream.
  explicit Generator(CheckpointModel& model);

  /// Appends up to `count` tokens to `tokens`, each told to `emit` as it comes; ends before the
  /// token `stop`. `tokens` must not be empty. Token i of sample `sample` depends on (seed, sample,
  /// i), logits and settings alone. Throws Error(rank) where the logits are not numbers.
  void generate(std::vector<std::int32_t>& tokens, std::int64_t count, const model::SamplerSettings& settings,
                std::uint64_t seed, std::int64_t sample, const std::function<void(std::int32_t)>& emit,
                std::optional<std::int32_t> stop = {});

 private:
  std::span<const float> start(const std::vector<std::int32_t>& tokens);
  std::span<const float> advance(const std::vector<std::int32_t>& tokens);

  std::span<const float> logits();

  CheckpointModel& model_;
  model::GptDecoder decoder_;
  std::vector<std::int32_t> start_;  // what the decoder's cache began with
  std::vector<float> start_logits_;  // what follows it
};

/// Whether it is known what the model's tokens stand for, and the model is small enough to write
/// some at the end of a run.
bool writes_text(const io::Deck& deck);

/// A short continuation of a line end by the checkpoint's model; for a terminal. The reason if
/// there can be none: the run has succeeded all the same.
std::string sample_text(const io::Deck& deck, const std::filesystem::path& checkpoint);

}  // namespace tenax::app
