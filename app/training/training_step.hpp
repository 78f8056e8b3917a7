// TrainingStep: what ranks do together in a step: passes, sums, the vote, the update.
#pragma once

#include <cstdint>

#include "app/training/fail_slow_watch.hpp"
#include "app/training/loop_checkpoints.hpp"
#include "app/training/loop_peers.hpp"
#include "app/training/loop_records.hpp"
#include "app/training/loop_stop.hpp"
#include "app/training/mitigator.hpp"
#include "app/training/step_batches.hpp"
#include "app/training/step_observation.hpp"
#include "app/training/step_vote.hpp"
#include "app/training/training_parts.hpp"

namespace tenax::app {

/// Collective: passes and sums of a step over the first samples, without an update, so that what
/// only the first step does is done (ft-hsdp, section 5). Of a replica whose rank is never alone.
void rehearse(const TrainingParts& parts);

/// Thread rule: the thread that trains.
class TrainingStep {
 public:
  /// What it needs, all of which outlives it.
  struct Parts {
    const TrainingParts& run;
    LoopPeers& peers;
    StepBatches& batches;
    StepObservation& observation;
    LoopCheckpoints& checkpoints;
    LoopRecords& records;
    LoopStop& stop;
    FailSlowWatch& watch;
    Mitigator& mitigator;
  };
  explicit TrainingStep(const Parts& parts) : parts_(parts) {}

  struct Outcome {
    StepVote vote;  ///< its verdict is not `again`; where it is `repeat`, nothing was updated
    double learning_rate = 0;
    double begin_s = 0, end_s = 0;  ///< steady clock
  };
  /// Collective. With peers, after LoopPeers::begin(). Throws on all ranks where one cannot go on.
  Outcome run(std::int64_t step);

 private:
  void begin();
  double learning_rate() const;
  StepVote elect(const kernels::UpdateRule& rule);
  // Its parts, in the order in which they are called.
  void compute(const StepRound& round, const kernels::UpdateRule& rule);
  void sum_over_replicas();
  parallel::StepSums norm();
  StepVote vote(const parallel::StepSums& sums);
  void update(const StepVote& vote, const kernels::UpdateRule& rule);

  StepBallot ballot(const parallel::StepSums& sums);
  void compute_again(parallel::SampleRange samples);
  parallel::StepBatch batch(parallel::SampleRange samples);
  void passes(const parallel::StepBatch& batch, const kernels::UpdateRule& rule);

  Parts parts_;
  std::int64_t step_ = 0;  // under way
};

}  // namespace tenax::app
