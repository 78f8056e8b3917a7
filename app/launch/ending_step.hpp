// EndingStep: a step of Slurm's that is to end, while its replica starts again beside it.
#pragma once

#include "app/launch/replica_process.hpp"

namespace tenax::app {

/// A step outlives a srun that is killed, and keeps its processors: srun itself has to end it, where it is interrupted. At
/// the first interrupt it asks the step's nodes, at the second Slurm's controller. Used by one thread.
class EndingStep {
 public:
  /// `srun` was interrupted a moment ago.
  explicit EndingStep(ReplicaProcess srun);
  /// To be asked often: interrupts again, and kills a srun that has not ended after 15 s.
  bool has_ended();

 private:
  ReplicaProcess srun_;
  double next_s_;  // of the steady clock
  int interrupts_ = 1;
};

}  // namespace tenax::app
