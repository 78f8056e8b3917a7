// Algorithms 3 and 4 of the PipeMorph paper, corrected: a schedule out of warm-up counts, by an event-driven
// simulation in which each idle stage picks its next operation.
#pragma once

#include <vector>

#include "parallel/pipeline_costs.hpp"
#include "parallel/pipeline_schedule.hpp"

namespace tenax::parallel {

/// Stage s runs warmup[s] forwards, then alternates B and F strictly (so that it has warmup[s] microbatches
/// between F and B as long as there are forwards left), and fills waiting time, and the end, with W. A
/// forward that the activation limit does not admit waits for W's. All passes are in microbatch order.
///
/// warmup: non-increasing, 1 ≤ warmup[s] ≤ min(microbatches, limit of s). Times are compared in whole
/// nanoseconds, so that equal sums of costs are equal.
PipelineSchedule generate_schedule(int microbatches, const PipelineCosts& costs,
                                   const std::vector<int>& warmup, const ActivationLimit& limit);

}  // namespace tenax::parallel
