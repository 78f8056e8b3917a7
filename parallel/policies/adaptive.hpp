// The policy "adaptive": planned for the links' delays (plan_adaptive); where there are none yet, with the largest uniform
// slackness that the limit allows (plan_initial), which absorbs delays to come.
#pragma once

#include <cstdint>

#include "parallel/schedule/pipeline_costs.hpp"
#include "parallel/schedule/pipeline_schedule.hpp"

namespace tenax::parallel {

PipelineSchedule plan_for_delays(int microbatches, const PipelineCosts& costs, const ActivationLimit& limit);

/// The slack for delays that have not happened yet takes half of what zero_bubble leaves of `fits`.
std::int64_t live_for_delays(std::int64_t fits, int stages, int microbatches);

}  // namespace tenax::parallel
