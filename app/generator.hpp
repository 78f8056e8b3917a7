// Generator: continues a text with a trained model, in one process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/world.hpp"
#include "model/gpt_stage.hpp"
#include "model/sampler.hpp"
#include "parallel/training_state.hpp"

namespace tenax::app {

class Generator {
 public:
  /// Loads the weights of a checkpoint, whatever layout wrote it. Throws Error(rank) if it is damaged.
  explicit Generator(const std::filesystem::path& checkpoint);
  ~Generator();

  const model::GptConfig& config() const { return config_; }
  /// Appends `count` tokens to `tokens`, each told to `emit` as it comes. The model sees the last seq_length tokens.
  /// `tokens` must not be empty. Token i of sample `sample` depends on (seed, sample, i), logits and settings alone.
  void generate(std::vector<std::int32_t>& tokens, std::int64_t count, const model::SamplerSettings& settings,
                std::uint64_t seed, std::int64_t sample, const std::function<void(std::int32_t)>& emit);

 private:
  std::vector<float> next_logits(const std::vector<std::int32_t>& tokens);

  model::GptConfig config_;
  std::vector<std::unique_ptr<comm::World>> worlds_;  // one: this process
  std::unique_ptr<kernels::Device> device_;
  std::unique_ptr<kernels::Stream> stream_;
  std::unique_ptr<comm::Communicator> alone_;
  std::unique_ptr<model::GptStage> stage_;
  std::unique_ptr<kernels::Buffer> weights_;
  std::int64_t length_ = 0;  // that the stage's shape is set for
};

}  // namespace tenax::app
