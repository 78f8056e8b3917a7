// BatchLoader: the token windows of a step for this rank's pipeline.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "io/tokens/token_blend.hpp"
#include "parallel/layout/batch_plan.hpp"

namespace tenax::app {

class BatchLoader {
 public:
  BatchLoader(io::TokenBlend blend, parallel::BatchPlan plan, std::int64_t seq_length);
  /// [microbatches, sequences, T + 1] tokens; valid until the next call.
  std::span<const std::int32_t> load(std::int64_t step);

 private:
  io::TokenBlend blend_;
  parallel::BatchPlan plan_;
  std::int64_t window_;  // T + 1
  std::vector<std::int32_t> tokens_;
};

}  // namespace tenax::app
