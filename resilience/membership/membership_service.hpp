// MembershipService: decides alone who trains together, from which step on, and which steps count.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "resilience/membership/epoch_decider.hpp"
#include "resilience/membership/membership_state.hpp"
#include "resilience/membership/spare_links.hpp"

namespace tenax::resilience {

/// Pure: messages, losses and the clock in; records, messages and events out (take()). Its driver
/// is one thread with the links, the processes and the RecordStore. `now`: seconds of a clock that
/// never goes back. A service that is made from the records of an earlier one goes on where that
/// one ended; README.md of resilience/ draws how an epoch changes.
class MembershipService {
 public:
  /// `records`: all that was ever stored. Throws kernels::Error(job) if they contradict themselves.
  MembershipService(MembershipOptions options, const std::vector<Record>& records, double now);

  /// All replicas that may live can find this service. Before, it waits for the members of the last epoch without end,
  /// and from now on for `recovery_s`.
  void on_all_told(double now);
  /// A message of a link. Links that have not checked in, or are no longer welcome, are ignored.
  /// Throws kernels::Error(job) where the run cannot go on: a state beyond the ledger.
  void on_message(PeerId peer, const MemberMessage& message, double now);
  /// A link has closed: at once the replica is lost.
  void on_closed(PeerId peer, double now);
  /// A replica's processes have ended, whether or not it ever checked in.
  void on_exit(ReplicaId id, double now);
  /// It lives, and its rank is to blame that nobody goes on.
  void on_hang(ReplicaId id, int rank, double now);
  /// A process of this start runs: those of earlier ones have exited.
  void on_started(ReplicaId id, double now);
  /// A replica is not started again: nothing waits for it. Where fewer than `min_replicas` are left, those that are
  /// there save what they hold, and the run ends.
  void on_given_up(int replica, double now);
  void on_stop_wish(double now);
  /// A replica starts in another zone.
  void on_zone(int replica, const std::string& zone) { state_.set_zone(replica, zone); }
  /// A warm spare takes that replica's place. False: it is not ready any more.
  bool call_spare(int spare, ReplicaId id);
  /// A replica has exited with status 0: an earlier service had ended the run. All who are there,
  /// or come, are told.
  void on_run_ended();
  /// The run's records have the validation after `done` steps: members may forget it.
  void on_validation_recorded(std::int64_t done);
  /// The run's records have that it joined in this epoch: it may forget so.
  void on_join_recorded(ReplicaId id, std::int64_t epoch);
  /// Likewise what it has observed up to this number.
  void on_observation_recorded(ReplicaId id, std::int64_t number);
  /// After a StateCorrupt that distrusts checkpoints, once for each: these are set aside, and nobody restores one.
  void on_checkpoints_settled(double now);
  /// All records of earlier take()s outlive the host now: members may forget them.
  void on_synced();
  /// At least once a heartbeat, after the messages that have come. A longer pause is taken for one
  /// of this process, in which it could hear nobody: it counts against no replica.
  void on_time(double now);

  ServiceOutput take();
  /// The run is over: all members have been told to exit.
  bool has_ended() const { return decider_.has_ended(); }
  /// The members have been told after which step to stop: none trains on.
  bool has_told_stop() const { return decider_.has_told_stop(); }
  /// It was told that it cannot take part, and no host is to blame for that: all that this start could do was to end.
  bool has_refused(ReplicaId id) const;
  /// The epoch in force and the steps that count, for tables and logs.
  const MembershipState& state() const { return state_; }

  /// Lets `see` see all that decides what comes next, but for times.
  template <class See>
  void show(See& see) const {
    see(state_, decider_, taken_done_, durable_done_, failures_, failed_done_, refused_loops_);
  }

 private:
  void hear_unseated(PeerId peer, const MemberMessage& message, double now);
  void lose_spares(const std::vector<PeerId>& peers);
  void check_in(PeerId peer, const CheckIn& check_in, double now);
  bool settle_clashes(PeerId peer, const CheckIn& check_in);
  bool outnumbers_seated(const CheckIn& check_in, const std::vector<Seats::Clash>& clashes);
  void refuse(PeerId peer, ReplicaId id, const std::string& reason);
  void lose_members_before(ReplicaId id, double now);
  void take(Seat& seat, const CheckIn& again, double now);
  void take(Seat& seat, const Beat& beat, double now);
  void take(Seat& seat, const Report& report, double now);
  void take(Seat& seat, const HoldMissed& missed, double now);
  void take(Seat& seat, const Commit& commit, double now);
  void take(Seat& seat, const Suspect& suspect, double now);
  void take(Seat& seat, const Accuse& accuse, double now);
  void take(Seat& seat, const Restored& restored, double now);
  void take(Seat& seat, const Saved& saved, double now);
  void take(Seat& seat, const Validated& validated, double now);
  void take(Seat& seat, const Observed& observed, double now);
  void take(Seat& seat, const Joined& joined, double now);
  void take(Seat& seat, const RankLost& lost, double now);
  void take(Seat& seat, const ServiceMissed& missed, double now);
  void take(Seat& seat, const SpareReady& ready, double now);
  void take(Seat& seat, const StopWish& wish, double now);
  void take(Seat& seat, const Leave& wish, double now);
  void decide(double now);
  bool is_recovering() const;
  CommitAck commit_ack() const { return {.done = durable_done_, .stops = decider_.is_stop_wished()}; }
  void resolve_suspicions(double now);
  void lose_one_of(const std::vector<int>& accused, double now);
  bool fails_again();
  void forgive_pause(double now);

  MembershipState state_;
  EpochDecider decider_;
  SpareLinks spares_;
  std::map<int, int> newest_refused_;         // incarnation, by replica
  std::map<int, std::string> refused_loops_;  // of those that were, by replica, while nobody was a member
  double recover_until_s_ = std::numeric_limits<double>::infinity();
  double ticked_s_;
  int failures_ = 0;  // of exchanges in a row, for which nobody was named, and after so many steps
  std::int64_t failed_done_ = -1;
  std::int64_t taken_done_ = 0, durable_done_ = 0;  // steps that are stored, and outlive the host
};

}  // namespace tenax::resilience
