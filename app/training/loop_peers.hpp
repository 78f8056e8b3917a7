// LoopPeers: what a training loop's steps owe to the other replicas.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "app/training/peer_state.hpp"
#include "app/training/step_rounds.hpp"
#include "app/training/step_share.hpp"
#include "app/training/step_vote.hpp"
#include "io/deck/deck.hpp"
#include "parallel/replica/replica.hpp"
#include "resilience/replicas/replica_session.hpp"

namespace tenax::app {

/// Without other replicas each step is one round of all its samples, and the calls do nothing
/// beside.
///
/// A step is: begin(), rounds(), for each of them prepare(), the passes, must_repeat_passes() and
/// conclude_round(); then wait_for_sums() and conclude().
///
/// Thread rule: the thread that trains. Collective over the replica's ranks where nothing else is
/// said.
class LoopPeers {
 public:
  /// All outlive it. `session`: null where there are no others; `sample_offset` is then what RunState's is. `state`: null where
  /// there is no data. `judges_times`: this replica's ranks have a core each.
  LoopPeers(const io::Deck& deck, parallel::Replica& replica, resilience::ReplicaSession* session,
            PeerState* state, std::int64_t sample_offset, bool judges_times);

  bool exist() const { return session_ != nullptr; }
  /// With others only: the next thing to do.
  const resilience::StepWork& begin();
  const resilience::StepWork& work() const { return work_; }
  resilience::ReplicaSession& session() { return *session_; }

  /// What this replica has to compute of step `step`.
  std::vector<StepRound> rounds(std::int64_t step);
  /// Before the passes of a round.
  void prepare(const StepRound& round);
  /// After them and the replica's own sums. Passes that turn out void run again before other
  /// replicas hear of their sums.
  bool must_repeat_passes();
  void conclude_round(const StepRound& round);
  /// The sums over all replicas, as far as they come about. `is_masked`: something else than training
  /// takes part of this step.
  void wait_for_sums(bool is_masked);

  /// Fills in what this rank says of the others. Not collective.
  void fill(StepBallot& ballot) const;
  /// Computes samples of the step's once more, as they were: the own sums are theirs then.
  using ComputeAgain = std::function<void(parallel::SampleRange samples)>;
  /// Changes what the replica's vote says into what all replicas' says.
  void conclude(StepVote& vote, double learning_rate, const ComputeAgain& compute);

  /// How long the step took that began and ended at these times, without waiting for others.
  double finish_iteration(double begin_s, double end_s);
  /// The step's share, beside those of others.
  StepShare& share() { return share_; }

  /// Tokens of the step under way, over all replicas.
  std::int64_t step_tokens() const;
  /// Of the sample after the step under way; none where each step so far took the global batch.
  std::optional<std::int64_t> next_sample() const;
  /// Of a step that fewer replicas contribute to, relative to the usual one (ft-hsdp, 6.2).
  double learning_rate_factor() const;
  bool writes_checkpoints() const { return !session_ || work_.is_writer; }

 private:
  void plan_ahead();
  StepRound whole_step(std::int64_t step);
  std::int64_t own_samples() const;
  resilience::OwnShare sum_own_share();
  resilience::OwnSquares compute_again(const resilience::Doubt& doubt, const ComputeAgain& compute);

  const io::Deck& deck_;
  parallel::Replica& replica_;
  resilience::ReplicaSession* session_;
  PeerState* state_;
  const std::int64_t sample_offset_;
  const bool judges_times_;
  std::optional<std::int64_t> next_sample_;  // without others
  resilience::StepWork work_;
  StepRounds rounds_;
  StepShare share_;
  resilience::OwnSquares own_;   // of the step
  resilience::UsualNorm usual_;  // of this replica
  bool announces_ = false;       // pieces that are final now are to be summed over the replicas
  bool lacks_sums_ = false;
  bool is_first_ = false;         // step of an epoch
  bool was_in_doubt_ = false;     // the step: some replica has computed samples again
  double begin_s_ = 0;            // of the step
  double before_sums_s_ = 0;      // what it took until it waited for the sums over replicas
  double has_sums_s_ = 0;         // when it had them
  double waited_s_ = 0;           // for other replicas since then
  double after_sums_s_ = 0;       // what the last step took from there on, without that
  double in_exchange_s_ = 0;      // so long the last step that was as any waited for other replicas
  double own_exchange_s_ = 0;     // ReplicaSession::take_exchange_s
  double agreed_exchange_s_ = 0;  // the same in the last step, of all ranks
};

}  // namespace tenax::app
