// ReplicaVote: what the leaders of all replicas tell each other at the end of a step, and whether a replica's own sums are to
// be believed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
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
  double loss = 0;          ///< of its samples, summed over tokens
  double iteration_s = 0;   ///< what a step takes it, its waiting for others apart
  double waited_s = 0;      ///< so long it waited for others in the last step that was as any; 0: none was
  double exchange_s = 0;    ///< ReplicaSession::take_exchange_s of the step before, summed over the ranks
  bool is_masked = false;   ///< something else than training took part of that time
  bool is_crowded = false;  ///< its ranks share cores, with each other or with other replicas'
  OwnSquares own = {};
  double usual = 0;                        ///< UsualNorm::value
  std::optional<StateDigest> digest = {};  ///< CommitRecord::digest, of all its ranks; told with the commit
};

/// What a step takes a replica: its own share of it, and waiting for others (OwnShare).
struct StepTime {
  double own_s = 0, waited_s = 0;
};

/// What a step takes all of them, the exchange between them included: the longest own time, and the shortest known
/// waiting. Who comes last waits for the exchange alone, and the others for that one as well.
double iteration_seconds(std::span<const StepTime> replicas);

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

/// The leader's alone. A step is: begin_step(), begin(), tell(), conclude(); tell_again() and settle() where there is a doubt.
/// Thread rule: the thread that trains.
class ReplicaVote {
 public:
  struct Waits {
    double longest_s = 0;   ///< at most so long
    double join_s = 0;      ///< and so much longer for those of one that is behind
    double verifier_s = 0;  ///< for those of the verifier, which has to compute them
  };
  /// Both references must outlive it. `waits`: for the others' numbers.
  ReplicaVote(ReplicaLeader& leader, GradientExchange& exchange, const Waits& waits)
      : leader_(leader), exchange_(exchange), waits_(waits) {}

  /// `epoch` and `plan` stay as they are until the next step.
  void begin_step(const Epoch& epoch, const MemberPlan& plan);
  /// The passes are done. Who holds the state tells its numbers at once: they go round beside the last pieces of the sums.
  void begin(const OwnShare& own);
  /// False: the step was aborted before its vote, in which this replica has no part.
  bool is_open() const { return is_open_; }
  /// The ranks know what they have. Who is behind tells its numbers only now.
  void tell(const AgreedStep& agreed);
  /// Whether conclude() or settle() would wait no longer, before the deadline: so that a replica's ranks, who wait for it, can
  /// do so in turns.
  bool has_numbers(kernels::Deadline deadline) {
    return exchange_.is_gathered(deadline) || latest_.expired();
  }
  /// Waits for the others' numbers. `accusers`: where some rank lacks sums, how many of the ranks lack them because of each
  /// replica of the ring. They are believed only where the same members have tried the step before: what strikes one of
  /// many ranks for a moment costs nobody.
  void conclude(const AgreedStep& agreed, std::span<const double> accusers);
  /// `again`: what the verifier has summed over the samples in doubt. A member that a death leaves without the
  /// verifier's word lacks the step's result.
  void tell_again(const OwnSquares& again);
  /// Waits for the verifier's.
  void settle();

  const std::optional<Doubt>& doubt() const { return doubt_; }
  bool has_all_sums() const { return outcome_.has_all_sums; }
  /// Over all replicas, summed over tokens.
  double loss() const { return loss_; }
  /// Ends the vote. True: this replica holds the state, and updates it.
  bool finish() { return leader_.on_vote(outcome_); }

 private:
  void tell_others();
  void explain_failure(std::span<const double> accusers);
  void take(const std::vector<double>& numbers, const AgreedStep& agreed);
  void find_doubt(const std::vector<double>& numbers);

  ReplicaLeader& leader_;
  GradientExchange& exchange_;
  const Waits waits_;
  kernels::Deadline latest_ = kernels::Deadline::after_s(0);  // of the others' numbers
  const Epoch* epoch_ = nullptr;
  const MemberPlan* plan_ = nullptr;
  std::vector<ReplicaId> members_;
  std::int64_t step_ = -1;
  bool is_repeated_ = false;  // these members have tried this step before
  OwnShare own_;
  StepOutcome outcome_;
  double loss_ = 0;
  std::optional<Doubt> doubt_;
  OwnSquares doubted_;  // what that replica has told
  bool is_open_ = true;
};

}  // namespace tenax::resilience
