// ReplicaSession: one rank's part in a run of several replicas: which step its replica does next and
// with whom, the sums over replicas, and the state that a replica fetches which is behind.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/control_group.hpp"
#include "parallel/layout/batch_plan.hpp"
#include "resilience/replicas/gradient_exchange.hpp"
#include "resilience/replicas/own_norms.hpp"
#include "resilience/replicas/replica_leader.hpp"
#include "resilience/replicas/state_fetch.hpp"
#include "resilience/replicas/state_server.hpp"
#include "resilience/replicas/step_points.hpp"

namespace tenax::resilience {

/// What a replica does next. Equal on all its ranks.
struct StepWork {
  MemberPlan plan;         ///< train, restore, save, exit or give_up
  int replica = 0;         ///< this one
  bool is_writer = false;  ///< this replica writes the run's checkpoints

  std::int64_t samples() const { return count_samples(plan.parts); }  ///< of the step, over all replicas
  /// Replicas that have samples in the step.
  int contributing() const;
};

/// A replica whose own sums may be wrong.
struct Doubt {
  int replica = -1;
  int verifier = -1;  ///< the replica that computes its samples again
  Part part;          ///< these
};

/// A step's sums over all replicas.
struct StepTotals {
  bool is_complete = false;         ///< else the step is to be done again, or goes on without this replica
  bool updates = false;             ///< this replica holds the state, and updates it
  double loss = 0;                  ///< summed over tokens
  std::optional<Doubt> doubt = {};  ///< first it is to be known: settle()
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

/// One step is: begin(), start() for each piece, wait_for_pieces(), conclude(); then an update, if
/// totals say so, between before_update() and the next begin().
///
/// Thread rule: the thread that trains. Calls marked collective are so over the replica's ranks.
class ReplicaSession {
 public:
  struct Options {
    int replica = 0;
    int rank = 0;  ///< in the replica
    comm::FtarOptions exchange;
    double join_wait_s = 1;
    double deadline_s = 60;
    double state_bytes_per_s = 0;  ///< that a rank fetches at most; 0: no limit
  };
  /// `transport`: of the sums. `state_transport`: of the state; may be the same one. `leader`: on rank 0, null elsewhere.
  /// All outlive the session.
  ReplicaSession(comm::ControlGroup& control, comm::Transport& transport, comm::Transport& state_transport,
                 kernels::Device& device, ReplicaLeader* leader, const FrozenEpoch& frozen, StateAccess state,
                 StepPoints& points, Options options);

  /// Collective: waits for what the service decides. A step that it names has begun.
  StepWork begin();
  /// A piece of this rank's sums is final (GradientExchange::start).
  void start(kernels::Stream& stream, int bucket, const parallel::GradientPiece& piece) {
    exchange_.start(stream, bucket, piece);
  }
  /// All pieces have been started. Waits for them, and where the replica is behind, for its state.
  /// False: this rank lacks some sum. What the replica tells the others goes round beside the last
  /// pieces; that it has all sums is not among it. A member that the service asks says so itself: where
  /// some have them and others lack them, the step counts, and these fetch the state.
  bool wait_for_pieces(const OwnShare& own);
  /// What the exchange of the step's pieces took on the way to the replica after this one, of one
  /// piece (comm::LinkTransfers). Asked once, after wait_for_pieces().
  double take_exchange_s() { return exchange_.take_transfer_s(); }
  /// The replica is behind, and this rank has not got all of the state.
  bool lacks_state() const { return fetch_ && !fetch_->is_complete(); }

  /// What all ranks of the replica have agreed on.
  struct Agreed {
    bool has_all_sums = false, has_state = false;  ///< on every rank
    double tokens = 0;                             ///< of the step, over all replicas
    double squares = 0;                            ///< Σ g² of the sums over replicas
    PlacedSum placed_squares = {};                 ///< CommitRecord::sums
    double learning_rate = 0;
  };
  /// Collective: the end of a step, unless some replica's own sums are in doubt.
  StepTotals conclude(const Agreed& agreed);
  /// Collective: the end of such a step. `again`: what this replica, where it is the verifier, has summed over the samples in
  /// doubt. Where another has summed them wrongly the step has no result.
  StepTotals settle(const OwnSquares& again);
  /// Nobody reads the state any more, and it is all in its place.
  void before_update();
  /// This replica writes a checkpoint of the state after the step.
  void on_checkpoint() { points_.reach(StepPoint::checkpoint, plan_.step); }

  // Collective, as MembershipMember has them.
  void on_restored(std::int64_t done, std::int64_t next_sample);
  void on_saved(const Saved& saved);
  void on_validated(const Validated& validated);
  void on_observed(const Observed& observed);
  void ask_stop();

 private:
  void take_epoch(const Epoch& epoch);
  void begin_state(const MemberPlan& plan);
  bool is_somebody_behind(const MemberPlan& plan) const;
  void tell_others();
  void vote(const Agreed& agreed);
  void find_doubt(const std::vector<double>& numbers);
  void judge(const OwnSquares& again);
  StepTotals tell_ranks(bool is_final);
  void end_fetch();
  void finish_join();
  comm::Peer peer_at(const EpochMember& member, const std::vector<std::string>& addresses) const;
  comm::Peer peer_of(const EpochMember& member) const { return peer_at(member, member.addresses); }
  comm::Peer state_peer_of(const EpochMember& member) const;
  int turn_of_fetch() const;
  /// An exchange that stands still ends before, and says who is at fault.
  kernels::Deadline exchange_deadline() const {
    constexpr double kFactor = 1.5;
    return kernels::Deadline::after_s(kFactor * options_.exchange.deadline_s);
  }
  std::string state_purpose() const { return "state." + std::to_string(epoch_.number); }

  comm::ControlGroup& control_;
  comm::Transport& state_transport_;
  ReplicaLeader* leader_;
  StateAccess state_;
  StepPoints& points_;
  Options options_;
  Epoch epoch_;
  MemberPlan plan_;
  OwnShare own_;           // in the step
  StepOutcome outcome_;    // the leader's: of the step, until the member has heard of it
  double total_loss_ = 0;  // likewise
  std::optional<Doubt> doubt_;
  OwnSquares doubted_;        // the leader's: what that replica has told
  bool may_vote_ = true;      // the leader's
  bool has_updated_ = false;  // in the last step
  GradientExchange exchange_;
  std::optional<StateServer> server_;
  std::unique_ptr<StateFetch> fetch_;  // while this replica is behind
  std::optional<double> behind_since_s_;
  double held_s_ = 0;         // members waited for the state so long
  double fetched_bytes_ = 0;  // by this rank, in fetches that have ended
};

}  // namespace tenax::resilience
