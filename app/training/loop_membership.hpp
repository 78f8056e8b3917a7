// LoopMembership: what a training loop does as one of several replicas besides its steps: restores, saves, ends.
#pragma once

#include "app/training/loop_checkpoints.hpp"
#include "app/training/loop_peers.hpp"
#include "app/training/loop_validation.hpp"
#include "app/training/training_parts.hpp"

namespace tenax::app {

/// Without other replicas its calls do nothing. Thread rule: the thread that trains.
class LoopMembership {
 public:
  /// What it needs, all of which outlives it.
  struct Parts {
    const TrainingParts& run;
    LoopPeers& peers;
    LoopCheckpoints& checkpoints;
    LoopValidation& validation;
  };
  explicit LoopMembership(const Parts& parts) : parts_(parts) {}

  /// Collective: does what the service plans until that is a step, which `position` says then. False: the run has ended, in
  /// order. Throws where this replica is to end otherwise.
  bool begin(TrainingPosition& position);
  /// Not collective, before a checkpoint is written: supervisor and replicas may be killed before it is followed by anything,
  /// and it must not be of steps that nobody knows.
  void keep_commits() const;

 private:
  using Action = resilience::MemberPlan::Action;

  void follow(const resilience::MemberPlan& plan, TrainingPosition& position);
  void restore(TrainingPosition& position);
  void save(const resilience::MemberPlan& plan, std::int64_t steps_done);

  Parts parts_;
};

}  // namespace tenax::app
