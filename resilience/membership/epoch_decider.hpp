// EpochDecider: decides when the epoch in force ends, and what comes after it: another epoch, or
// the end of the run.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "resilience/membership/epoch_change.hpp"
#include "resilience/membership/membership_state.hpp"
#include "resilience/membership/next_epoch.hpp"

namespace tenax::resilience {

/// Looks at the state as it is, whatever led to it: decide() is called after everything that
/// changes it, and calls in a row do nothing more than one.
class EpochDecider {
 public:
  void decide(MembershipState& state, double now);

  void take(const Seat& seat, const Report& report, double now) {
    change_.take(seat.id.replica, report, now);
  }
  /// A member has gone beyond the step it was to be held at: all are held at a later one.
  void take(MembershipState& state, Seat& seat, const HoldMissed& missed, double now);
  /// A checkpoint is complete. After the last one the run is over.
  void take(MembershipState& state, const Seat& seat, const Saved& saved);

  void wish_stop() { stop_wished_ = true; }
  bool is_stop_wished() const { return stop_wished_; }
  /// It began under an earlier service: from now on `min_replicas` are enough.
  void continue_begun() { has_begun_ = true; }
  /// The run is over: tells all who are there.
  void end(MembershipState& state);
  /// Where too few are left to train ever again, the run is to end.
  void give_up(MembershipState& state, int replica);
  /// Members that have not answered in time.
  std::vector<ReplicaId> late(MembershipState& state, double now) const;
  void shift(double seconds) { change_.shift(seconds); }
  /// So long the members waited for the epoch in force, if nobody was lost before it.
  double entry_stall_s() const { return entry_stall_s_; }
  bool is_frozen() const { return change_.kind() == EpochChange::Kind::freeze; }
  bool has_told_stop() const { return stop_at_.has_value(); }
  bool has_ended() const { return has_ended_; }

  /// Lets `see` see all that decides what comes next, but for times.
  template <class See>
  void show(See& see) const {
    see(change_, stop_at_, stop_told_, given_up_, stop_wished_, has_begun_, has_ended_);
  }

 private:
  using Candidates = std::vector<Candidate>;

  void steer(MembershipState& state, double now);
  bool wants_hold(MembershipState& state) const;
  void hold(MembershipState& state, double now);
  void conclude(MembershipState& state, double now);
  void start(MembershipState& state, double now);
  bool ask_to_restore(MembershipState& state);
  void settle(MembershipState& state, Candidates candidates, double now);
  void begin(MembershipState& state, const Candidates& candidates, double now);
  EpochReason reason_of(MembershipState& state, const Candidates& candidates) const;
  void stop(MembershipState& state, const Candidates& candidates);
  void await_members(double now);
  void tell_wait(MembershipState& state, double now);

  EpochChange change_;
  std::optional<StopAt> stop_at_;         // sent
  std::vector<PeerId> stop_told_;         // to these
  std::optional<double> awaits_since_s_;  // for want of members
  double entry_stall_s_ = 0;
  std::set<int> given_up_;
  bool stop_wished_ = false, has_begun_ = false, has_ended_ = false;
};

}  // namespace tenax::resilience
