// simulate(): when every operation of a schedule starts and ends, exactly, given what each takes.
#pragma once

#include <string>
#include <vector>

#include "parallel/pipeline_costs.hpp"
#include "parallel/pipeline_schedule.hpp"

namespace tenax::parallel {

struct OpTime {
  double start_s = 0, end_s = 0;
};

struct Timeline {
  std::vector<std::vector<OpTime>> ops_of_stage;  ///< aligned with the schedule's ops_of_stage
  double makespan_s = 0;                          ///< last end minus first start over all stages
  std::vector<double> bubble_rate;  ///< 1 − busy / (own last end − own first start), per stage
};

/// A stage runs its list in order, each op as soon as the stage is idle and the op's input has arrived: end
/// of F on the stage above, or of B or BW on the stage below, plus the link's delay. Transfers occupy no
/// stage and no link. Time starts at 0 on stage 0. Takes any order that validate() accepts; throws
/// Error(operation) if it deadlocks.
Timeline simulate(const PipelineSchedule& schedule, const PipelineCosts& costs);

/// A Gantt chart: one line a stage of at most `width` columns besides its label. An op is drawn to scale as
/// its code and microbatch where they fit ("F3--"), else as its code's first letter; '.' is a bubble.
std::string draw_gantt(const PipelineSchedule& schedule, const Timeline& timeline, int width = 100);

}  // namespace tenax::parallel
