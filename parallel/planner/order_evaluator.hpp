// OrderEvaluator: when the passes of a PassOrder run, in nanoseconds; simulate() for the search's
// inner loop.
#pragma once

#include <vector>

#include "parallel/planner/planning_problem.hpp"

namespace tenax::parallel {

/// Keeps its arrays between calls: one per search. The problem must outlive it.
class OrderEvaluator {
 public:
  explicit OrderEvaluator(const PlanningProblem& problem);

  /// The makespan of an order of admissible words; kNever when it deadlocks or is sure to exceed
  /// `cutoff`.
  Nanoseconds evaluate(const PassOrder& order, Nanoseconds cutoff = kNever);

  /// Times in the last order that evaluate() did not give up: the start of the i-th pass of
  /// `stage`, and the arrival of the input of the stage's k-th F or B (0 for stage 0's F, the end
  /// of its own F for the last stage's B).
  const Nanoseconds* starts(int stage) const { return starts_.data() + row(stage, ops_per_stage_); }
  const Nanoseconds* forward_arrivals(int stage) const {
    return forward_arrival_.data() + row(stage, count_);
  }
  const Nanoseconds* backward_arrivals(int stage) const {
    return backward_arrival_.data() + row(stage, count_);
  }

 private:
  struct StageState {
    int next = 0, forwards = 0, backwards = 0;
    Nanoseconds free_at = 0, work_left = 0;
    const Nanoseconds* awaited = nullptr;  // the arrival that this stage stopped at
  };
  static std::size_t row(int stage, int length) {
    return static_cast<std::size_t>(stage) * static_cast<std::size_t>(length);
  }
  void reset();
  bool advance(int stage, const PassOrder& order, Nanoseconds cutoff);
  void deliver(std::vector<Nanoseconds>& arrivals, int stage, int microbatch, std::size_t link,
               Nanoseconds sent);

  const PlanningProblem& problem_;
  int count_, ops_per_stage_;
  std::vector<Nanoseconds> starts_, forward_arrival_, backward_arrival_;
  std::vector<StageState> states_;
  std::vector<int> runnable_;
};

}  // namespace tenax::parallel
