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

/// How messages travel. A link carries activations down and gradients up.
struct TransferModel {
  enum class Kind {
    latency,  ///< each message arrives its link's delay after it was sent; transfers overlap (delegated)
    send_queue,  ///< each stage has one in-order queue for both directions with room for queue_depth messages, the one
    ///< in transit included; one message at a time takes its link's delay; a stage blocks at a send
    ///< while its queue is full
    shared_channel  ///< both directions of a link share one channel, first come first served, one transfer at a time
  };
  Kind kind = Kind::latency;
  int queue_depth = 1;
  bool paired = false;  ///< shared_channel: opposite transfers run at once (1F1B's fused send/receive)
  /// Per link: true = delegated, pure latency whatever `kind` says. Empty = none.
  std::vector<char> delegated;
};

/// A stage runs its list in order, each op as soon as the stage is idle and the op's input has arrived: end
/// of F on the stage above, or of B or BW on the stage below, plus the link's delay. Transfers occupy no
/// stage and no link. Time starts at 0 on stage 0. Takes any order that validate() accepts; throws
/// Error(operation) if it deadlocks.
Timeline simulate(const PipelineSchedule& schedule, const PipelineCosts& costs);
/// As above with messages that may block their sender. Throws Error(operation) when the queues deadlock.
Timeline simulate(const PipelineSchedule& schedule, const PipelineCosts& costs,
                  const TransferModel& transfers);

/// A Gantt chart: one line a stage of at most `width` columns besides its label. An op is drawn to scale as
/// its code and microbatch where they fit ("F3--"), else as its code's first letter; '.' is a bubble.
std::string draw_gantt(const PipelineSchedule& schedule, const Timeline& timeline, int width = 100);

}  // namespace tenax::parallel
