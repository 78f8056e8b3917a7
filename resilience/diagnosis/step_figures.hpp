// StepFigures: a rank's figures of an iteration, from the records of its passes and collectives
// (Greyhound, ATC 2025, section 4.3).
#pragma once

#include <functional>
#include <vector>

#include "parallel/execution/step_observer.hpp"
#include "resilience/diagnosis/rank_figures.hpp"

namespace tenax::resilience {

/// Only remembers while the iteration runs. One thread.
class StepFigures : public parallel::StepObserver {
 public:
  /// `preempted_s`: RankFigures::preempted_s since it was last asked.
  explicit StepFigures(std::function<double()> preempted_s) : preempted_s_(std::move(preempted_s)) {}

  void on_pass(const parallel::PassRecord& pass) override { passes_.push_back({pass.begin_s, pass.end_s}); }
  void on_transfer(const parallel::TransferRecord&) override {}
  void on_collective(const comm::CollectiveRecord& collective) override;
  void on_phase(const parallel::PhaseRecord&) override {}

  /// The figures of the iteration since the last call, but for the delays of messages.
  RankFigures take();
  /// Forgets it: its records do not count.
  void clear();

 private:
  struct Span {
    double begin_s = 0, end_s = 0;
  };
  static double seconds_of(const std::vector<Span>& spans);
  static double busy_s(std::vector<Span> spans);
  static double overlap_s(const std::vector<Span>& a, const std::vector<Span>& b);

  std::function<double()> preempted_s_;
  std::vector<Span> passes_, tensor_;  // in order
  std::vector<Span> data_;
  RankFigures figures_;
};

}  // namespace tenax::resilience
