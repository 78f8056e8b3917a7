// IterationTracker: the iteration times of a run, from its start on.
#pragma once

#include <memory>
#include <utility>

#include "resilience/detection/change.hpp"

namespace tenax::resilience {

/// Keeps from a detector what says nothing of the machine. One thread.
class IterationTracker {
 public:
  IterationTracker(std::unique_ptr<ChangeDetector> detector, const DetectionOptions& options)
      : detector_(std::move(detector)), warmup_left_(options.warmup) {}

  /// Takes an iteration that took `seconds` > 0. A masked one counts for nothing: while a
  /// checkpoint is saved, or right after an action of the program. Iterations increase.
  std::optional<Change> add(std::int64_t iteration, double seconds, bool is_masked = false);
  /// The program has changed what an iteration takes: path, schedule, allocation, grid. A level
  /// begins without an event, unless it is slow compared with the last healthy one and, where
  /// iterations were slow before and are not expected to be healthy now, with those. With other work
  /// there is nothing to compare it with.
  void own_action(ExpectedLevel expected = ExpectedLevel::unknown) { detector_->begin_level(expected); }
  /// As ChangeDetector::is_healthy().
  bool is_healthy() const { return detector_->is_healthy(); }

 private:
  std::unique_ptr<ChangeDetector> detector_;
  int warmup_left_;
};

}  // namespace tenax::resilience
