// StepMetrics: what a step has taken: the pipeline adapts to it, then it is measured, told to all who act by it, and recorded.
#pragma once

#include <cstdint>
#include <optional>

#include "app/training/fail_slow_watch.hpp"
#include "app/training/loop_checkpoints.hpp"
#include "app/training/loop_peers.hpp"
#include "app/training/loop_records.hpp"
#include "app/training/mitigator.hpp"
#include "app/training/step_batches.hpp"
#include "app/training/step_observation.hpp"
#include "app/training/training_step.hpp"

namespace tenax::app {

/// Thread rule: the thread that trains.
class StepMetrics {
 public:
  /// What it needs, all of which outlives it.
  struct Parts {
    resilience::PipelineAdaptation* adaptation;  ///< null where the pipeline never changes
    LoopPeers& peers;
    const StepBatches& batches;
    StepObservation& observation;
    const LoopCheckpoints& checkpoints;
    LoopRecords& records;
    FailSlowWatch& watch;
    Mitigator& mitigator;
  };
  explicit StepMetrics(const Parts& parts) : parts_(parts) {}

  /// By which the run itself has made a step unlike the one before.
  using OwnAction = std::optional<resilience::ExpectedLevel>;

  /// Collective, once after step `step` has updated: adapts the pipeline to what its passes took.
  OwnAction adapt(std::int64_t step, const StepVote& vote);
  /// Instead, not collective: the step is to be repeated.
  void skip_step();
  /// Then, not collective: measures and records the step. `turn_s`: when the loop turned to it, steady clock.
  void conclude(std::int64_t step, const TrainingStep::Outcome& outcome, const OwnAction& own_action,
                double turn_s);

 private:
  bool finish_adaptation(std::int64_t step, const StepVote& vote);
  void record(const TrainingStep::Outcome& outcome, io::TrainingMetrics metrics, FailSlowWatch::Step watched);

  Parts parts_;
};

}  // namespace tenax::app
