// StateRange: the unit in which training state moves into checkpoints and out of them, and later
// between replicas.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/shard_layout.hpp"

namespace tenax::io {

/// The groups of a checkpoint: one for the weights, and one for each moment of the optimizer
/// ("exp_avg").
inline constexpr char kWeightGroup[] = "/model";
inline constexpr char kOptimizerGroup[] = "/optimizer";
inline std::string moment_group(const std::string& moment) {
  return std::string(kOptimizerGroup) + "/" + moment;
}

/// A number for each element of a range: its weights, or a moment of them.
struct StatePart {
  std::string group;
  float* data = nullptr;  ///< [count]; memory of others
};

/// Consecutive elements of one parameter that this rank owns (its optimizer shard), with their
/// optimizer state, in host memory. The ranges of all ranks cover every logical element. Several
/// ranks may hold the same elements: replicated parameters, and the tied embedding's second copy.
/// Exactly one of their ranges is `primary` and writes. All of them read.
struct StateRange {
  std::string name;              ///< Hugging Face name of the parameter
  kernels::ShardLayout layout;   ///< the whole parameter's on this rank
  std::int64_t local_begin = 0;  ///< first element, in the rank's flattened part
  std::int64_t count = 0;
  std::vector<StatePart> parts = {};  ///< the weights first
  bool primary = true;

  float* weights() const { return parts.front().data; }
};

}  // namespace tenax::io
