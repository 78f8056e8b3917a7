// StepRounds: which samples of a step this replica has still to compute. Where other replicas die,
// that takes more than one round of passes.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel/layout/batch_plan.hpp"

namespace tenax::app {

/// One round of passes over samples that follow each other; none: the sums are zero.
struct StepRound {
  parallel::SampleRange samples;
  bool adds = false;  ///< to the sums of earlier rounds
  bool is_last = true;
};

/// Pure. The sums of what was computed stay through all attempts at a step.
class StepRounds {
 public:
  /// An attempt at `step`, of which this replica shall compute `own`. What was computed in earlier
  /// attempts counts, unless some of it is not asked for any more. Returns what is to be done.
  std::vector<StepRound> begin(std::int64_t step, const std::vector<parallel::SampleRange>& own);
  /// A round has been done. `earlier_loss`: of the passes before it, where it adds to them.
  void add(const StepRound& round, double earlier_loss);
  /// Of all rounds but the last.
  double earlier_loss() const { return earlier_loss_; }

 private:
  void clear(std::int64_t step);

  std::int64_t step_ = -1;
  std::vector<parallel::SampleRange> computed_;  // one without samples: the sums are zero
  double earlier_loss_ = 0;
};

}  // namespace tenax::app
