// PipelineSimulation: the recurrence behind simulate(): an op starts when its stage is idle and its
// input has arrived, and messages travel as the transfer model says.
#pragma once

#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "parallel/schedule/timeline.hpp"

namespace tenax::parallel {

/// The schedule must not deadlock (DependencyWalk). It must outlive the simulation, as must costs
/// and model.
class PipelineSimulation {
 public:
  PipelineSimulation(const PipelineSchedule& schedule, int microbatches, const PipelineCosts& costs,
                     const TransferModel& model);

  /// When each op starts and ends, aligned with the schedule's lists. To be called once.
  std::vector<std::vector<OpTime>> run();

 private:
  struct Stage {
    std::size_t next = 0;
    double free_s = 0;
    bool running = false;
    std::vector<double> departed_s;  // send_queue: when each message so far left the queue
  };
  using End = std::pair<double, int>;  // when a running op ends, and its stage

  std::size_t at(int stage, int microbatch) const {
    return static_cast<std::size_t>(stage) * microbatches_ + static_cast<std::size_t>(microbatch);
  }
  double arrival_s(int stage, const PipelineOp& op) const;
  void try_start(int stage);
  void finish(int stage, double end_s);
  /// Posts a message of `stage` at `end_s` over `link`; returns its arrival, and moves free_s if
  /// the stage is blocked.
  double post_s(int stage, int link, double end_s);
  /// For `link`'s channel in the given direction, which a message holds for `held_s` and leaves `delay_s` after its
  /// start.
  double cross_channel_s(int link, int direction, double end_s, double held_s, double delay_s);

  const PipelineSchedule& schedule_;
  const PipelineCosts& costs_;
  const TransferModel& model_;
  std::size_t microbatches_;
  std::vector<Stage> stages_;
  std::vector<double> forward_arrival_s_, gradient_arrival_s_;  // [stage][microbatch], infinite until known
  std::vector<double> channel_free_s_;                          // [link][direction]
  std::vector<std::vector<OpTime>> times_;
  std::priority_queue<End, std::vector<End>, std::greater<>> running_;
};

}  // namespace tenax::parallel
