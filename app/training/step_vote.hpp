// StepVote: what all ranks agree on before a step's update.
#pragma once

#include "parallel/replica/replica.hpp"
#include "resilience/diagnosis/inquiry.hpp"
#include "resilience/membership/state_digest.hpp"

namespace tenax::app {

/// What this rank says.
struct StepBallot {
  parallel::StepSums sums;
  bool signalled = false;          ///< asked to end by a signal
  bool time_is_up = false;         ///< the run's time limit is over
  bool restarts = false;           ///< is to end, to be started again elsewhere
  bool has_failed = false;         ///< cannot go on
  bool checkpoint_is_due = false;  ///< by the clock
  bool is_void = false;            ///< its passes must run again: PipelineRunner::is_void
  bool path_failed = false;        ///< its direct path to a neighbour broke
  bool has_adaptation_events = false;
  bool lacks_sums = false;              ///< sums over replicas have not come about
  bool lacks_state = false;             ///< the replica is behind, and this rank's state is not all there
  double exchange_s = 0;                ///< ReplicaSession::take_exchange_s
  resilience::InquiryOrder order = {};  ///< rank 0's; elsewhere as it is made
  bool acts = false;                    ///< rank 0's: something is done about what is slow
  bool has_path_news = false;           ///< PathNews::any
  resilience::PlacedSum placed_squares = {};  ///< PeerState::placed_squares
};

enum class Verdict {
  go_on,
  again,    ///< the passes do not count and are run once more; nothing else of the vote counts either
  repeat,   ///< the sums over replicas have not come about: to be gone on with as the others decide
  suspend,  ///< end after this step with a checkpoint to go on from
  stop      ///< some rank cannot go on
};

/// Equal on every rank.
struct StepVote {
  Verdict verdict = Verdict::go_on;
  double loss = 0;       ///< mean cross entropy over the global batch, nats; NaN where there is no data
  double grad_norm = 0;  ///< global, before clipping; NaN where there is no data
  double squares = 0;    ///< Σ g² that the norm is of: of the sums over the batch's tokens
  bool finite = true;    ///< false: nobody updates
  bool signalled = false, time_is_up = false, restarts = false;  ///< some rank: why to suspend
  bool checkpoint_is_due = false;
  bool path_failed = false, has_adaptation_events = false;  ///< some rank
  bool has_all_sums = true, has_state = true;               ///< every rank
  double exchange_s = 0;                                    ///< of all ranks together
  bool updates = true;                   ///< false: the replica is behind, and there is nothing to update
  resilience::PlacedSum placed_squares;  ///< of all ranks
  resilience::InquiryOrder order;
  bool acts = false;           ///< at this step's end all ranks carry out an action of rank 0
  bool has_path_news = false;  ///< some rank
};

/// Collective over the replica's ranks. `tokens`: of the global batch. `has_data` false: the emulated device's, whose sums
/// mean nothing.
StepVote count_votes(parallel::Replica& replica, const StepBallot& mine, double tokens, bool has_data);

}  // namespace tenax::app
