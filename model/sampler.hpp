// Sampler: the next token from logits.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/random.hpp"

namespace tenax::model {

struct SamplerSettings {
  double temperature = 1.0;  ///< 0 = greedy
  int top_k = 0;             ///< 0 = off
  double top_p = 1.0;        ///< 1 = off
};

/// Pure: the same logits, settings and uniform number give the same token. Ties go to the lower
/// token. `uniform` in [0, 1) picks by inverse cumulative probability over the kept tokens, most
/// probable first.
std::int32_t sample_token(std::span<const float> logits, const SamplerSettings& settings, double uniform);

}  // namespace tenax::model
