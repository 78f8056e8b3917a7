// SimulatedCosts: what steps, losses and joins of a run take, in seconds.
#pragma once

#include <filesystem>
#include <vector>

#include "io/deck/deck.hpp"

namespace tenax::app {

struct SimulatedCosts {
  double step_s = 1;  ///< of a step to which all replicas contribute, with its exchange
  /// So many steps are played as one: simulations of long runs with short steps. One that a loss interrupts still ends
  /// for the survivors with the step that they are in.
  int steps_at_once = 1;
  double heartbeat_s = 0.1;
  double dead_s = 1;  ///< a silent replica is lost after so long
  /// How long losses took that were noticed sooner; each is as likely. Empty: all are silent.
  std::vector<double> detect_s = {};
  double reconfigure_s = 0;   ///< from the first message of a change until its epoch is in force
  bool repeats_step = false;  ///< survivors compute an interrupted step anew; false: what is missing
  double first_step_s = 0;    ///< more than another, the first step that a joiner has samples of
  double state_s = 0;         ///< a joiner fetches the state in so long
  double join_wait_s = 0;     ///< members wait at most so long for it
  double restart_s = 0;       ///< processes start again, after a repair or without one
  double takeover_s = 1;      ///< a warm spare checks in so long after the loss
  double checkpoint_s = 0;    ///< training waits so long for each checkpoint
  double evaluation_s = 0;    ///< and for each evaluation
};

/// What FT-HSDP tells of its own run of 12 x 8192 GPUs (sections 4.1, 4.3, 6.1), without the two faults that
/// it has mended since: steps of 20 s, a time-out of 60 s, some seconds for a new group, the step trained anew,
/// 100 s more for a joiner's first step.
SimulatedCosts paper_costs();

/// What a run of `tenax launch` has recorded in its events.jsonl and metrics.jsonl: medians; of a checkpoint the mean of what
/// the last launch lost to them (resilience/effective_time). Its deck, `deck`, says when a silent replica is lost and how long
/// members wait. Throws kernels::Error(usage) where it has no steps.
SimulatedCosts measured_costs(const std::filesystem::path& run_directory, const io::Deck& deck);

}  // namespace tenax::app
