// simulate(): when every operation of a schedule starts and ends, exactly, given what each takes.
#pragma once

#include <vector>

#include "parallel/schedule/pipeline_costs.hpp"
#include "parallel/schedule/pipeline_schedule.hpp"

namespace tenax::parallel {

struct OpTime {
  double start_s = 0, end_s = 0;
};

struct Timeline {
  std::vector<std::vector<OpTime>> ops_of_stage;  ///< aligned with the schedule's ops_of_stage
  double makespan_s = 0;                          ///< last end minus first start over all stages
  std::vector<double> bubble_rate;  ///< 1 − busy / (own last end − own first start), per stage
};

/// How messages travel. A link carries activations down and gradients up. A message is posted at
/// the end of its op.
struct TransferModel {
  enum class Kind {
    /// All links are delegated: each message arrives its link's delay after it was posted, and transfers
    /// overlap but for what holds the wire (PipelineCosts::wire_s).
    latency,
    /// Each stage has one in-order queue for both directions with room for queue_depth messages,
    /// the one in transit included; one message at a time takes its link's delay; a stage blocks at
    /// a send while its queue is full.
    send_queue,
    /// Both directions of a link share one channel: first come (by time of posting; at the same
    /// moment the activation), first served, one transfer at a time, each taking the link's delay.
    /// A post does not block its stage: later compute goes on while messages wait in the channel,
    /// without a bound. So a slow link costs 2·N·delay. Against the logs of PipeMorph's authors (S
    /// 8, N 24, 9.7 ms, link 6, fixed zero-bubble order): 1251 / 1731 / 2211 / 2691 / 3171 ms at 20
    /// / 30 / 40 / 50 / 60 ms, theirs 1348 / 1808 / 2289 / 2818 / 3252; by `latency` 941 / 1101 /
    /// 1421 / 1581 at 20 / 30 / 50 / 60, their delegates 1010 / 1174 / 1481 / 1649.
    shared_channel
  };
  Kind kind = Kind::latency;
  int queue_depth = 1;
  /// shared_channel: opposite transfers run at once (1F1B's fused send/receive): one such channel
  /// per direction.
  bool paired = false;
  /// Per link: true = delegated, as with `latency` whatever `kind` says. Empty = none.
  std::vector<char> delegated = {};
};

/// A stage runs its list in order, each op as soon as the stage is idle and the op's input has
/// arrived: end of F on the stage above, or of B or BW on the stage below, plus the link's delay.
/// Transfers occupy no stage and no link. Time starts at 0 on stage 0. Takes any order that
/// validate() accepts; throws Error(operation) if it deadlocks. No queue of `transfers` deadlocks: a
/// message in transit arrives whether or not its receiver is ready.
Timeline simulate(const PipelineSchedule& schedule, const PipelineCosts& costs,
                  const TransferModel& transfers = {});

/// How long a stage is idle before each of its `ops`, of a Timeline; the first waits since time 0.
std::vector<double> idle_before_s(const std::vector<OpTime>& ops);

}  // namespace tenax::parallel
