// StateRange: the unit in which training state moves: into checkpoints and out of them, and later between
// replicas.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/shard_layout.hpp"

namespace tenax::io {

/// Consecutive elements of one parameter that this rank owns (its optimizer shard), with their AdamW state,
/// in host memory. The ranges of all ranks cover every logical element; where several ranks hold the same
/// elements (replicated parameters, the tied embedding's second copy) exactly one of them is `primary` and
/// writes; all of them read.
struct StateRange {
  std::string name;              ///< Hugging Face name of the parameter
  kernels::ShardLayout layout;   ///< of the whole parameter on this rank
  std::int64_t local_begin = 0;  ///< first element, in the rank's flattened part
  std::int64_t count = 0;
  float* master = nullptr;  ///< [count] each; memory of others
  float* exp_avg = nullptr;
  float* exp_avg_sq = nullptr;
  bool primary = true;
};

}  // namespace tenax::io
