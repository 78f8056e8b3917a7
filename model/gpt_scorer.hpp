// GptScorer: how well a whole GPT predicts windows of a text.
#pragma once

#include <memory>
#include <span>

#include "model/whole_gpt.hpp"

namespace tenax::model {

/// The passes of training's evaluation, bit for bit, in the memory of one block. One
/// thread at a time.
class GptScorer {
 public:
  /// For up to `largest` windows at a time. `alone`: a group of one rank. All must
  /// outlive the scorer.
  GptScorer(const GptConfig& config, comm::Communicator& alone, kernels::Device& device,
            kernels::Stream& stream, MicrobatchShape largest);
  /// Bytes of device memory it takes, besides weights.
  static std::size_t bytes(const GptConfig& config, MicrobatchShape largest);

  ParameterTable& parameters() { return gpt_.parameters; }
  void bind(const kernels::Tensor& weights) { gpt_.bind(weights); }
  /// The cross entropy in nats of all of `shape`'s predictions, added up. `windows`: [sequences,
  /// length + 1]. Throws Error(rank) at the deadline.
  double score(std::span<const std::int32_t> windows, MicrobatchShape shape, kernels::Deadline deadline);

 private:
  struct Pass {
    ForwardPass forward;
    kernels::Tensor tokens, losses;  // [2, rows]: inputs, targets; [rows]

    static Pass take(Arena& arena, const GptConfig& config, MicrobatchShape shape);
  };

  kernels::Device& device_;
  kernels::Stream& stream_;
  WholeGpt gpt_;
  std::unique_ptr<kernels::Buffer> memory_, token_staging_, loss_staging_;
};

}  // namespace tenax::model
