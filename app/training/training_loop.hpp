// TrainingLoop: the steps of a run, and what comes between them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/training/fail_slow_watch.hpp"
#include "app/training/grid_swap.hpp"
#include "app/training/loop_checkpoints.hpp"
#include "app/training/loop_membership.hpp"
#include "app/training/loop_peers.hpp"
#include "app/training/loop_records.hpp"
#include "app/training/loop_stop.hpp"
#include "app/training/loop_validation.hpp"
#include "app/training/mitigator.hpp"
#include "app/training/step_batches.hpp"
#include "app/training/step_metrics.hpp"
#include "app/training/step_observation.hpp"
#include "app/training/training_parts.hpp"
#include "app/training/training_step.hpp"

namespace tenax::app {

/// Thread rule: the thread that trains.
class TrainingLoop {
 public:
  /// Collective, as all calls. `first_step`: steps done before.
  TrainingLoop(TrainingParts parts, std::int64_t first_step);
  /// Runs to the end, or until LoopStop has another reason to end. Throws what ends the run. Returns the
  /// reason of the end.
  std::string run();
  std::int64_t steps_done() const { return position_.step; }
  /// What detection took, as a share of the iterations' time: told in the event of the end.
  double tracking_share() const {
    return records_.iterations_s() > 0 ? watch_.seconds() / records_.iterations_s() : 0;
  }
  /// Rank 0's, for the same event: what iterations took too long while something was slow, and what
  /// was done against it took.
  double lost_s() const { return mitigator_.lost_s(); }
  double mitigation_s() const { return mitigator_.seconds(); }
  /// Not collective, after run() has thrown: the adaptations whose outcome nobody waits
  /// for any more.
  void log_open_adaptations();

 private:
  Verdict step();
  void advance(const StepVote& vote);
  Verdict finish(const StepVote& vote);
  Verdict break_off();
  void checkpoint(const StepVote& vote);
  void write_trace();
  /// Where the parts have a swap: GridSwap::run, after the checkpoint that is being saved. References to
  /// the parts' replica and adaptation stay valid.
  GridSwap::Outcome regrid(const std::vector<int>& rank_of_position);

  FailSlowWatch::Parts watch_parts();
  Mitigator::Parts mitigator_parts();
  WriteEvent writer();
  void tell_peers_of_saves();
  bool has_steps_left() const { return position_.step < parts_.deck.run.train_steps; }

  TrainingParts parts_;
  TrainingPosition position_;
  LoopPeers peers_;
  LoopRecords records_;
  LoopStop stop_;
  StepObservation observation_;
  LoopCheckpoints checkpoints_;
  StepBatches batches_;
  LoopValidation validation_;
  FailSlowWatch watch_;
  Mitigator mitigator_;
  TrainingStep step_;
  StepMetrics metrics_;
  LoopMembership membership_;
};

}  // namespace tenax::app
