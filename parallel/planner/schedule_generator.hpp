// Algorithms 3 and 4 of the PipeMorph paper, corrected: a schedule out of warm-up counts, by an event-driven
// simulation in which each idle stage picks its next operation.
#pragma once

#include <vector>

#include "parallel/schedule/pipeline_costs.hpp"
#include "parallel/schedule/pipeline_schedule.hpp"

namespace tenax::parallel {

struct GeneratorOptions {
  /// Forwards a stage runs before its first B: non-increasing over stages, each in
  /// 1 … min(microbatches, limit of the stage).
  std::vector<int> warmup;
  ActivationLimit limit;
};

/// Stage s runs warmup[s] forwards, then B and F strictly in turn, so that warmup[s] microbatches are between
/// F and B as long as there are forwards left, and fills waiting time and the end with W. A forward that the
/// activation limit does not admit waits for W's. All passes run in microbatch order. Times are compared in
/// whole nanoseconds, so that equal sums of costs are equal.
PipelineSchedule generate_schedule(int microbatches, const PipelineCosts& costs,
                                   const GeneratorOptions& options);

}  // namespace tenax::parallel
