// ReplicaVote: what the leaders of all replicas tell each other at the end of a step, and whether a replica's own sums are to
// be believed.
#pragma once

#include <optional>
#include <vector>

#include "parallel/layout/batch_plan.hpp"
#include "resilience/replicas/gradient_exchange.hpp"
#include "resilience/replicas/own_norms.hpp"
#include "resilience/replicas/replica_leader.hpp"

namespace tenax::resilience {

/// A replica whose own sums may be wrong.
struct Doubt {
  int replica = -1;
  int verifier = -1;  ///< the replica that computes its samples again
  Part part;          ///< these
};

/// What a replica tells the others of itself in a step. Equal on all its ranks.
struct OwnShare {
  double loss = 0;         ///< of its samples, summed over tokens
  double iteration_s = 0;  ///< what a step takes it, its waiting for others apart
  double exchange_s = 0;   ///< ReplicaSession::take_exchange_s of the step before, summed over the ranks
  bool is_masked = false;  ///< something else than training took part of that time
  OwnSquares own = {};
  double usual = 0;                        ///< UsualNorm::value
  std::optional<StateDigest> digest = {};  ///< CommitRecord::digest, of all its ranks; told with the commit
};

/// What all ranks of a replica have agreed on at the end of a step.
struct AgreedStep {
  bool has_all_sums = false, has_state = false;  ///< on every rank
  double tokens = 0;                             ///< of the step, over all replicas
  double squares = 0;                            ///< Σ g² of the sums over replicas
  PlacedSum placed_squares = {};                 ///< CommitRecord::sums
  double learning_rate = 0;
};

/// A sample range of one replica; absent where it computes nothing, or not in one piece.
std::optional<Part> only_part(const std::vector<Part>& parts, int replica);

/// The leader's alone. A step is: begin_step(), begin(), conclude(), settle() where there is a doubt. Thread rule: the
/// thread that trains.
class ReplicaVote {
 public:
  /// Both references must outlive it. `wait_s`: for the others' numbers, at most.
  ReplicaVote(ReplicaLeader& leader, GradientExchange& exchange, double wait_s)
      : leader_(leader), exchange_(exchange), wait_s_(wait_s) {}

  /// `epoch` and `plan` stay as they are until the next step.
  void begin_step(const Epoch& epoch, const MemberPlan& plan);
  /// The passes are done. Who holds the state tells its numbers at once: they go round beside the last pieces of the sums.
  void begin(const OwnShare& own);
  /// False: the step was aborted before its vote, in which this replica has no part.
  bool is_open() const { return is_open_; }
  /// Waits for the others' numbers.
  void conclude(const AgreedStep& agreed);
  /// `again`: what the verifier has summed over the samples in doubt. A member that a death leaves without the
  /// verifier's word lacks the step's result.
  void settle(const OwnSquares& again);

  const std::optional<Doubt>& doubt() const { return doubt_; }
  bool has_all_sums() const { return outcome_.has_all_sums; }
  /// Over all replicas, summed over tokens.
  double loss() const { return loss_; }
  /// Ends the vote. True: this replica holds the state, and updates it.
  bool finish() { return leader_.on_vote(outcome_); }

 private:
  void tell_others();
  void explain_failure();
  void take(const std::vector<double>& numbers, const AgreedStep& agreed);
  void find_doubt(const std::vector<double>& numbers);
  kernels::Deadline deadline() const { return kernels::Deadline::after_s(wait_s_); }

  ReplicaLeader& leader_;
  GradientExchange& exchange_;
  const double wait_s_;
  const Epoch* epoch_ = nullptr;
  const MemberPlan* plan_ = nullptr;
  OwnShare own_;
  StepOutcome outcome_;
  double loss_ = 0;
  std::optional<Doubt> doubt_;
  OwnSquares doubted_;  // what that replica has told
  bool is_open_ = true;
};

}  // namespace tenax::resilience
