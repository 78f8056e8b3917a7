// DependencyWalk: visits the operations of a schedule in an order in which every operation comes
// after those it waits for. The one place that knows when a schedule deadlocks; validate() and
// simulate() stand on it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "parallel/schedule/pipeline_schedule.hpp"

namespace tenax::parallel {

class DependencyWalk {
 public:
  /// Microbatch numbers of the schedule must be in 0 … microbatches − 1; the schedule must outlive
  /// the walk.
  DependencyWalk(const PipelineSchedule& schedule, int microbatches)
      : schedule_(schedule),
        microbatches_(static_cast<std::size_t>(microbatches)),
        next_of_stage_(schedule.ops_of_stage.size(), 0),
        forward_done_(schedule.ops_of_stage.size() * microbatches_, 0),
        gradient_done_(forward_done_.size(), 0) {}

  /// Calls visit(stage, index in the stage's list) once for every op, each stage's ops in list
  /// order. Throws Error(operation) naming what each blocked stage waits for when the schedule
  /// deadlocks.
  template <class Visit>
  void run(Visit&& visit) {
    std::vector<int> runnable;
    for (int stage = schedule_.stages() - 1; stage >= 0; --stage) runnable.push_back(stage);
    while (!runnable.empty()) {
      const int stage = runnable.back();
      runnable.pop_back();
      const auto& ops = schedule_.ops_of_stage[static_cast<std::size_t>(stage)];
      std::size_t& next = next_of_stage_[static_cast<std::size_t>(stage)];
      for (; next < ops.size() && ready(stage, ops[next]); ++next) {
        visit(stage, static_cast<int>(next));
        const int wakes = finish(stage, ops[next]);
        if (wakes >= 0 && wakes < schedule_.stages()) runnable.push_back(wakes);
      }
    }
    throw_if_blocked();
  }

 private:
  std::size_t at(int stage, int microbatch) const {
    return static_cast<std::size_t>(stage) * microbatches_ + static_cast<std::size_t>(microbatch);
  }
  bool ready(int stage, const PipelineOp& op) const;
  /// Marks the op done; returns the stage that its result goes to, out of range if there is none.
  int finish(int stage, const PipelineOp& op);
  void throw_if_blocked() const;
  std::string describe_wait(int stage, const PipelineOp& op) const;

  const PipelineSchedule& schedule_;
  std::size_t microbatches_;
  std::vector<std::size_t> next_of_stage_;
  std::vector<char> forward_done_, gradient_done_;  // [stage][microbatch]
};

}  // namespace tenax::parallel
