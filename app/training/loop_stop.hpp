// LoopStop: why a training loop ends: a signal, the time limit, a restart elsewhere, or as all steps are done.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "app/stop_signals.hpp"
#include "app/training/step_vote.hpp"
#include "comm/control_group.hpp"
#include "io/deck/deck.hpp"
#include "resilience/replicas/replica_session.hpp"

namespace tenax::app {

/// Whether the run is to stop, as this rank knows, or as all know together.
struct EarlyStop {
  bool signalled = false;   ///< asked to end by a signal
  bool time_is_up = false;  ///< the run's time limit is over, or its supervisor ends it
  bool any() const { return signalled || time_is_up; }
};

/// Thread rule: the thread that trains. Not collective where nothing else is said.
class LoopStop {
 public:
  /// All outlive it. `peers`: null where there are no other replicas. `started_s`: when the process started, steady clock.
  LoopStop(const io::Deck& deck, StopSignals& signals, resilience::ReplicaSession* peers, double started_s)
      : deck_(deck), signals_(signals), peers_(peers), started_s_(started_s) {}

  /// On rank 0, between two votes: the run is to end after the next step with reason "restart", to be
  /// started again without `hosts`, which exclude_hosts.txt will name.
  void restart_without(std::vector<std::string> hosts) { excluded_hosts_ = std::move(hosts); }
  /// Fills in what this rank says of it.
  void fill(StepBallot& ballot) const;
  /// As this rank knows, between two votes.
  EarlyStop wish() const;

  /// The vote ends the run after its step.
  void suspend(const StepVote& vote);
  /// `stop` ends it between steps.
  void break_off(EarlyStop stop) { reason_ = stop.signalled ? "signal" : "time_limit"; }
  /// Nothing but its last step ends the run so far.
  bool goes_on() const { return reason_ == kCompleted; }
  /// Collective: the loop has ended, with `is_completed` after its last step. Returns why.
  const std::string& end(bool is_completed);
  /// Collective, after end(): where the run is to be started again, the file says without which hosts.
  void exclude_hosts(comm::ControlGroup& control) const;

 private:
  static constexpr const char* kCompleted = "completed";
  bool time_is_up() const;

  const io::Deck& deck_;
  StopSignals& signals_;
  resilience::ReplicaSession* peers_;
  const double started_s_;
  std::string reason_ = kCompleted;
  std::vector<std::string> excluded_hosts_;  // rank 0's; not empty: the run ends to be started without them
};

}  // namespace tenax::app
