// MembershipMember: the side of a replica in the membership protocol. It runs on the replica's
// leader and says what the replica's training thread may do next.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "resilience/membership/member_messages.hpp"
#include "resilience/membership/member_plan.hpp"
#include "resilience/membership/member_progress.hpp"
#include "resilience/membership/service_messages.hpp"
#include "resilience/membership/unacked.hpp"

namespace tenax::resilience {

/// Pure: messages, outcomes and the clock in; messages and plans out. The caller takes care that no
/// two threads call at once. `now`: seconds of a clock that never goes back.
class MembershipMember {
 public:
  struct Options {
    ReplicaId id;
    std::string build = {}, deck = {}, data = {}, loops = {}, host = {};
    std::vector<std::string> addresses = {};        ///< where each rank takes connections
    std::vector<std::string> state_addresses = {};  ///< where it gives its state; none: there, too
    SampleRules samples = {};
    std::int64_t train_steps = 0;
    double heartbeat_s = 0.1;
    double service_wait_s = 600;  ///< so long it waits for a service that it needs
  };

  explicit MembershipMember(Options options);

  // The link to the service. take_messages() after each call of this class.
  void on_connected(double now);
  void on_disconnected();
  void on_message(const ServiceMessage& message, double now);
  /// At least once a heartbeat.
  void on_time(double now);
  std::vector<MemberMessage> take_messages();
  /// False: take_messages() may wait for the next heartbeat. It has nothing but commits, which the
  /// epoch's writer sends too.
  bool has_urgent_messages() const;

  // Training.
  MemberPlan plan() const;
  /// All exchanges of this epoch and those before are to be aborted: the word that every wait in an
  /// exchange polls.
  std::int64_t frozen_epoch() const { return frozen_; }
  void begin_step();
  /// The passes are done. False: the step was aborted meanwhile; without a vote, plan() tells how it
  /// goes on. True: the vote and on_vote() follow, whatever comes.
  bool begin_vote();
  /// Where it stands. Its is_whole() is the flag for the last exchange of a step: this replica will
  /// hold the state after it.
  const MemberProgress& progress() const { return progress_; }
  /// It holds the state after `step` steps now. Ignored where nobody asks for that any more.
  void on_fetched(std::int64_t step);
  /// Returns whether to update the weights.
  bool on_vote(const StepOutcome& outcome);
  /// Ignored where nobody asks for it any more.
  void on_restored(std::int64_t done, std::int64_t next_sample);
  /// A checkpoint is complete, the last one or one in between, or could not be written.
  void on_saved(Saved saved);
  /// It has found the loss of the state it holds. Told until the run has recorded it.
  void on_validated(const Validated& validated);
  /// Told until the run has recorded it, with the number, which this call sets.
  void on_observed(Observed observed);
  /// It was behind, and has completed a step with the others' state. Told until the run has recorded
  /// it, with the epoch, which this call sets.
  void on_joined(Joined joined);
  /// The whole run shall end.
  void ask_stop();
  /// This replica shall leave it.
  void ask_leave();

  /// It cannot go on without a service, and has waited for one so long.
  double missed_service_s(double now) const;
  /// What a service that comes later must still be told.
  const UnackedCommits& unacked() const { return unacked_; }
  /// The service said last that somebody has asked for the end of the run.
  bool run_stops() const { return run_stops_; }
  const std::optional<Epoch>& epoch() const { return epoch_; }

  /// Lets `see` see all that decides what comes next, but for times.
  template <class See>
  void show(See& see) const {
    see(progress_, unacked_, unacked_validations_, unacked_observations_, outbox_, epoch_, phase_,
        step_epoch_, frozen_, asked_, hold_, has_reported_, restores_, stop_, saved_, joined_, wishes_stop_,
        wishes_leave_, end_, connected_);
  }

 private:
  void take(const Refused& refused);
  void take(const Freeze& freeze);
  void take(const Hold& hold);
  void take(const Resume& resume);
  void take(const NewEpoch& next);
  void take(const CommitAck& ack);
  void take(const ValidationAck& ack);
  void take(const JoinAck& ack);
  void take(const ObservationAck& ack);
  void take(const Restore& restore);
  void take(const StopAt& stop);
  void take(const Ended& ended);
  void take(const Evicted& evicted);
  void take(const TakePlace&) {}  // of warm spares

  void send(MemberMessage message);
  void send_unacked();
  void send_observations();
  void report(std::int64_t change);
  void leave_run(int status, const std::string& reason);
  bool is_frozen() const { return epoch_ && frozen_ >= epoch_->number; }
  bool needs_change() const { return has_reported_ || is_frozen() || phase_ == StepPhase::failed; }
  bool waits() const;
  bool has_saved(std::int64_t done) const {
    return saved_ && saved_->done == done && (saved_->failure.empty() || saved_->is_final);
  }
  CommitRecord commit_of(const StepOutcome& outcome) const;

  Options options_;
  MemberProgress progress_;
  UnackedCommits unacked_;
  UnackedValidations unacked_validations_;
  UnackedObservations unacked_observations_;
  std::int64_t observations_ = 0;  // so far
  std::vector<MemberMessage> outbox_;
  std::optional<Epoch> epoch_;
  StepPhase phase_ = StepPhase::idle;
  std::int64_t step_epoch_ = 0;        // in which the current step was begun
  std::int64_t frozen_ = 0;            // epoch
  std::optional<std::int64_t> asked_;  // by a Freeze that came in the vote: the change
  std::optional<Hold> hold_;
  bool has_reported_ = false;  // and begins no step before it hears of the decision
  bool restores_ = false;
  std::optional<StopAt> stop_;
  std::optional<Joined> joined_;  // until it is recorded
  std::optional<Saved> saved_;    // in this epoch, the latest
  bool wishes_stop_ = false, wishes_leave_ = false;
  bool run_stops_ = false;  // decides nothing here
  std::optional<MemberPlan> end_;
  bool connected_ = false;
  double heard_s_ = 0, beaten_s_ = 0;
  std::optional<double> waits_since_s_;
};

}  // namespace tenax::resilience
