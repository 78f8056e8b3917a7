// Shares of the global batch: how many microbatches each data-parallel group computes, so that the
// slowest of them ends as early as it can (Greyhound, section 5.2, strategy S2). Pure.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace tenax::resilience {

/// Seconds that a pipeline takes for m ≥ 1 microbatches: finite, and non-decreasing in m.
using PipelineTime = std::function<double(int microbatches)>;

struct MicrobatchShares {
  std::vector<int> microbatches;  ///< of each group, ≥ 1
  double slowest_s = 0;           ///< what the slowest group takes for its share
};

/// Exactly min max T_i(m_i) over Σ m_i = `microbatches`, m_i ≥ 1. The paper's T_i is m_i t_i; here
/// it is any function, so that filling the pipeline counts. Group i is a pipeline of the kind
/// `kind_of_group[i]`, each of which some group is; a kind is evaluated once for all its groups.
/// There is a microbatch for each group.
///
/// Of shares whose slowest group takes the same: the most even ones; what does not divide goes to
/// the groups with the lower indices. So equal groups have equal shares.
MicrobatchShares share_microbatches(std::span<const PipelineTime> kinds, std::span<const int> kind_of_group,
                                    int microbatches);

}  // namespace tenax::resilience
