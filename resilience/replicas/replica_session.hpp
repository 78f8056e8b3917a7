// ReplicaSession: one rank's part in a run of several replicas: which step its replica does next and
// with whom, the sums over replicas, and the state that a replica fetches which is behind.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/control_group.hpp"
#include "parallel/layout/batch_plan.hpp"
#include "resilience/replicas/gradient_exchange.hpp"
#include "resilience/replicas/replica_leader.hpp"
#include "resilience/replicas/replica_vote.hpp"
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

/// A step's sums over all replicas.
struct StepTotals {
  bool is_complete = false;         ///< else the step is to be done again, or goes on without this replica
  bool updates = false;             ///< this replica holds the state, and updates it
  double loss = 0;                  ///< summed over tokens
  std::optional<Doubt> doubt = {};  ///< first it is to be known: settle()
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
    double deadline_s = 60;        ///< also of `control`
    double state_bytes_per_s = 0;  ///< that a rank fetches at most; 0: no limit
    std::function<bool()> must_stop =
        {};  ///< a signal asks this rank for the end of the run; empty: none does
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
  /// Collective: all pieces have been started. Waits for them, and where the replica is behind, for its state.
  /// False: this rank lacks some sum. What the replica tells the others goes round beside the last
  /// pieces; that it has all sums is not among it. A member that the service asks says so itself: where
  /// some have them and others lack them, the step counts, and these fetch the state.
  bool wait_for_pieces(const OwnShare& own);
  /// What the exchange of the step's pieces took on the way to the replica after this one, of one
  /// piece (comm::LinkTransfers). Asked once, after wait_for_pieces().
  double take_exchange_s() { return exchange_.take_transfer_s(); }
  /// The replica is behind, and this rank has not got all of the state.
  bool lacks_state() const { return fetch_ && !fetch_->is_complete(); }

  /// Collective: the end of a step, unless some replica's own sums are in doubt.
  StepTotals conclude(const AgreedStep& agreed);
  /// Collective: the end of such a step. `again`: what this replica, where it is the verifier, has summed over the samples in
  /// doubt. Where another has summed them wrongly the step has no result.
  StepTotals settle(const OwnSquares& again);
  /// Nobody reads the state any more, and it is all in its place.
  void before_update();
  /// Collective: the step ends without an update. What the replica has fetched is its state from now on.
  void keep_state();
  /// This replica writes a checkpoint of the state after the step.
  void on_checkpoint() { points_.reach(StepPoint::checkpoint, plan_.step); }
  /// It waits for a checkpoint that gets on: it does not hang.
  void on_saving() { points_.reach(StepPoint::saving, plan_.step); }

  /// Some member of the epoch fetches its state in the step of `plan`, this one or another.
  bool is_somebody_behind(const MemberPlan& plan) const;

  // Collective, as MembershipMember has them.
  void on_restored(std::int64_t done, std::int64_t next_sample);
  void on_saved(const Saved& saved);
  void on_validated(const Validated& validated);
  void on_observed(const Observed& observed);
  void ask_stop();
  /// On rank 0: somebody has asked for the end of the run. False on the others.
  bool run_stops() const { return leader_ && leader_->run_stops(); }
  /// On rank 0: steps that this replica has completed, and that the service may not have recorded.
  std::vector<CommitRecord> unrecorded() const;

 private:
  bool ask_stop_if_any();
  void take_epoch(const Epoch& epoch);
  void settle_fetch();
  void wait_in_turns(const std::function<bool(kernels::Deadline)>& is_over);
  bool finish_pieces();
  void wait_for_numbers();
  double longest_exchange_s() const;
  kernels::Deadline one_turn() const;
  void wait_for_state(bool has_sums);
  void begin_state(const MemberPlan& plan);
  void put_fetched();
  std::vector<double> count_accusers();
  StepTotals tell_ranks(bool is_final);
  void end_fetch();
  void finish_join();
  comm::Peer peer_at(const EpochMember& member, const std::vector<std::string>& addresses) const;
  comm::Peer peer_of(const EpochMember& member) const { return peer_at(member, member.addresses); }
  comm::Peer state_peer_of(const EpochMember& member) const;
  int turn_of_fetch() const;
  std::string state_purpose() const { return "state." + std::to_string(epoch_.number); }

  comm::ControlGroup& control_;
  comm::Transport& state_transport_;
  ReplicaLeader* leader_;
  const FrozenEpoch& frozen_;
  StateAccess state_;
  StepPoints& points_;
  Options options_;
  Epoch epoch_;
  MemberPlan plan_;
  bool has_asked_stop_ = false;
  bool has_updated_ = false;  // in the last step
  GradientExchange exchange_;
  std::optional<ReplicaVote> vote_;  // the leader's
  std::optional<StateServer> server_;
  std::unique_ptr<StateFetch> fetch_;  // while this replica is behind
  bool is_put_ = false;                // what was fetched is the state
  std::optional<double> behind_since_s_;
  double held_s_ = 0;         // members waited for the state so long
  double fetched_bytes_ = 0;  // by this rank, in fetches that have ended
};

}  // namespace tenax::resilience
