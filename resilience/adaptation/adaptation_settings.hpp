// AdaptationSettings: what a run asks of the adaptation of its pipelines.
#pragma once

#include <cstdint>

#include "parallel/planner/plan_budget.hpp"
#include "parallel/replica/pipeline_context.hpp"
#include "parallel/schedule/timeline.hpp"
#include "resilience/adaptation/pipeline_forecast.hpp"

namespace tenax::resilience {

using parallel::PathChoice;

struct AdaptationSettings {
  bool answers = true;  ///< false: the pipeline is only measured
  PathChoice paths = PathChoice::automatic;
  bool reschedule = true;          ///< false: the schedule stays whatever is measured
  parallel::TransferModel direct;  ///< how a direct link carries messages (its `delegated` is not used)
  double delegate_overhead_s = 0;  ///< what a delegate's host copies take, half at each end
  int skipped_iterations = 1;      ///< at the run's beginning, when memory is touched first
  ForecastOptions forecast;
  parallel::PlanBudget budget;
  std::uint64_t seed = 1;
};

/// How a link was run in the iteration that was measured.
struct LinkCondition {
  bool delegated = false;     ///< when the iteration began
  bool direct_usable = true;  ///< now; false: its direct path is broken, and it must be delegated
  /// Messages that came over either path, where the direct one broke in this iteration.
  int direct_messages = 0, delegated_messages = 0;

  bool just_broke() const { return !delegated && !direct_usable; }
};

}  // namespace tenax::resilience
