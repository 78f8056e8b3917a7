// Supervisor: keeps the replicas of a run alive, and hosts the service by which they agree.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/build.hpp"
#include "app/supervisor/earlier_records.hpp"
#include "app/supervisor/earlier_run.hpp"
#include "app/supervisor/hang_watch.hpp"
#include "app/supervisor/run_checkpoints.hpp"
#include "app/supervisor/run_replicas.hpp"
#include "app/supervisor/run_store.hpp"
#include "app/supervisor/supervisor_records.hpp"
#include "app/training/run_rank.hpp"
#include "app/training/run_state.hpp"
#include "resilience/replicas/membership_server.hpp"

namespace tenax::app {

/// Used by one thread. Errors are kernels::Error.
class Supervisor {
 public:
  /// What was asked of the process since the last look.
  struct Requests {
    bool stop = false;  ///< in order
    bool end = false;   ///< at once
  };

  /// Locks the run's directories and looks at what they hold. `rank`: alone in its world.
  /// `standing`: in charge, or null. All outlive it. `started_s`: of the steady clock, from which run.max_minutes count.
  Supervisor(RunRank& rank, const Build& build, RunStanding* standing, double started_s);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  /// It was asked to stop before the run could begin.
  bool is_stopped() const { return state_->is_stopped(); }
  /// The directories hold a run that has done all its steps.
  bool is_finished() const { return !takes_over() && state_->is_finished(); }
  /// Of a finished run, whose replicas may have done the last steps without a supervisor: brings ledger, metrics and
  /// events to its end, where they are not there.
  void complete_records();
  std::int64_t steps_done() const { return records_ ? records_->steps_done() : state_->steps(); }
  /// The run directory is this supervisor's to end the run in. Before, a run that begins has touched nothing in
  /// it, and replicas of one that goes on train on.
  bool has_run() const { return has_run_; }
  /// Of a run that has ended in order: "completed", "signal" or "time_limit".
  std::string end_reason() const;
  /// The run has begun, and ends now: no further step is recorded. Prints its effective time, and returns it for the event.
  io::JsonObject end();
  /// Another supervisor has taken the run over: this one has touched nothing since.
  bool is_deposed() const { return store_.is_deposed(); }
  /// The run has ended, in order or not: other supervisors need not take it over.
  void release(const std::string& reason, int status) { store_.release(reason, status); }
  /// Starts what is not running.
  void start();
  /// Replicas of a supervisor that has gone are there.
  bool takes_over() const { return earlier_->is_alive(); }
  enum class Progress {
    goes_on,
    has_ended,  ///< in order
    begins_anew,  ///< all that were taken over have ended, unheard: another Supervisor is to begin with what they have left
  };
  /// Some moments' work.
  Progress advance(const Requests& requests);

 private:
  void check_charge();
  void begin_run();
  void continue_records(const EarlierRecords& earlier);
  void take_over();
  void open_records(std::int64_t steps_done, resilience::EffectiveTime time);
  void create_service(JoinFile join, const std::string& deck, const std::vector<resilience::Record>& stored);
  bool time_is_up() const;
  Progress begin_anew();
  void check_end();
  void take_news();
  void take(const resilience::Record& record);
  void take(const resilience::ServiceEvent& event);
  void take(const resilience::ReplicaSeen& seen);
  void take(const resilience::TooFewLeft& few);
  bool restores_records();
  void check_records();
  void watch_for_hangs();
  void tell_stragglers();

  RunRank& rank_;
  Build build_;
  RunStore store_;
  const double started_s_, started_unix_s_ = io::unix_time_s();
  std::optional<EarlierRun> earlier_;
  std::unique_ptr<RunState> state_;
  bool has_run_ = false;
  bool stops_ = false, time_is_up_ = false;
  bool warns_of_files_ = false;         // of the first replica that comes
  std::optional<std::string> failure_;  // why the run ends with another status than 0, if in order
  std::unique_ptr<SupervisorRecords> records_;
  std::optional<RunCheckpoints> checkpoints_;
  std::optional<HangWatch> hangs_;
  std::unique_ptr<resilience::MembershipServer> server_;  // its thread uses what is above
  std::optional<RunReplicas> replicas_;
};

}  // namespace tenax::app
