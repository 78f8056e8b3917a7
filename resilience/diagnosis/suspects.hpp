// find_suspects(): which ranks, links and groups have become slow, and why, from what all ranks
// measured in training itself (Greyhound, ATC 2025, 4.3: profiling).
#pragma once

#include <vector>

#include "parallel/layout/process_grid.hpp"
#include "resilience/diagnosis/component.hpp"
#include "resilience/diagnosis/rank_figures.hpp"

namespace tenax::resilience {

struct SuspectOptions {
  double suspect = 1.1;  ///< detect.suspect: how much slower than its peers a part is suspect
  /// Seconds of an iteration before the slowdown. What adds less than 3 % of it is noise.
  double healthy_iteration_s = 0;
};

/// Ranks of a stage are compared with each other, groups of a kind that have as many bytes, and the
/// links of the pipelines: by the rule of PartComparison. A suspect group of two ranks is a link.
///
/// Causes: a slow rank's is `cpu_contention` where it was kept from the processor for half of its
/// excess or more, else `compute`. A slow group or link of which a rank was kept from the processor
/// for half of the excess is none: that rank is the component, once, whose factor is what its work
/// takes with all that waiting: (healthy compute + preempted) / healthy compute.
///
/// `is_common`: nothing is suspect, but three quarters of the ranks compute more slowly, or of the
/// groups or links of a kind transfer more slowly, or of the ranks were kept from the processor, by
/// `suspect` or more.
///
/// `reports`: of all ranks, by world rank. Ranks first, then links, each by number. Pure.
Suspects find_suspects(const std::vector<RankReport>& reports, const parallel::ProcessGrid& grid,
                       const SuspectOptions& options);

}  // namespace tenax::resilience
