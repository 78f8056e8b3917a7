// Supervisor: keeps the replicas of a run alive, and hosts the service by which they agree.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/build.hpp"
#include "app/launch/host_pool.hpp"
#include "app/supervisor/hang_watch.hpp"
#include "app/supervisor/run_checkpoints.hpp"
#include "app/supervisor/run_standing.hpp"
#include "app/supervisor/supervised_replica.hpp"
#include "app/supervisor/supervisor_records.hpp"
#include "app/training/run_rank.hpp"
#include "app/training/run_state.hpp"
#include "resilience/etcd/etcd_store.hpp"
#include "resilience/replicas/ledger_store.hpp"
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
  /// `standing`: in charge, or null. All outlive it.
  Supervisor(RunRank& rank, const Build& build, RunStanding* standing);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  /// The directories hold a run that has done all its steps.
  bool is_finished() const { return !takes_over() && state_->is_finished(); }
  std::int64_t steps_done() const { return records_ ? records_->steps_done() : state_->steps(); }
  /// The run directory is this run's; before, nothing in it has been touched.
  bool has_records() const { return records_ != nullptr; }
  /// Of a run that has ended in order: "completed", "signal" or "time_limit".
  std::string end_reason() const;
  /// Another supervisor has taken the run over: this one has touched nothing since.
  bool is_deposed() const { return etcd_ && etcd_->is_deposed(); }
  /// The run has ended, in order or not: other supervisors need not take it over.
  void release(const std::string& reason, int status);
  /// Starts what is not running.
  void start();
  /// Replicas of a supervisor that has gone are there.
  bool takes_over() const { return !living_.empty(); }
  /// Some moments' work. False when the run has ended in order.
  bool advance(const Requests& requests);

 private:
  using Lost = resilience::ReplicaLost;

  void find_living();
  void begin_run();
  void take_over();
  void start_replicas();
  void create_service(const comm::JobSecret& secret, const std::vector<resilience::Record>& stored);
  JoinFile join_file() const;
  void start_replica(SupervisedReplica& replica);
  void open_store();
  resilience::RecordStore& record_store();
  void adopt(const LaunchFile::Replica& known);
  void continue_counts();
  void publish();
  void place(SupervisedReplica& replica);
  void leave_host(SupervisedReplica& replica);
  void check_in_charge();
  void write_launch_file() const;
  bool time_is_up() const;
  void take_news();
  void take(const SupervisorRecords::News& news);
  void watch(SupervisedReplica& replica);
  void watch_for_hangs();
  void bury(SupervisedReplica& replica, const SupervisedReplica::End& end);
  void check_first_starts();
  void adopt_deck(const JoinFile& join);
  bool has_all_ended() const;
  void clean_up();

  RunRank& rank_;
  Build build_;
  RunStanding* standing_;
  const double started_s_ = kernels::steady_now_s();
  std::unique_ptr<RunState> state_;
  std::string run_id_, secret_;
  std::string deck_;                         // resolved, as the replicas read it
  std::vector<LaunchFile::Replica> living_;  // of an earlier supervisor
  std::vector<SupervisedReplica> replicas_;
  std::map<int, SupervisedReplica::End> first_failures_;  // before the first epoch, by replica
  HostPool hosts_;                                        // empty where the deck names none
  std::map<int, std::string> lost_hosts_;                 // on which a replica was lost last, by replica
  std::map<int, std::string> unsaid_;                     // why a replica failed, by replica
  bool has_begun_ = false, stops_ = false, time_is_up_ = false;
  std::optional<double> ended_at_s_;
  std::unique_ptr<SupervisorRecords> records_;
  std::optional<RunCheckpoints> checkpoints_;
  std::optional<HangWatch> hangs_;
  std::unique_ptr<resilience::LedgerStore> ledger_;
  std::unique_ptr<resilience::EtcdStore> etcd_;           // null where records are in the ledger alone
  std::unique_ptr<resilience::MembershipServer> server_;  // last: its thread uses what is above
};

}  // namespace tenax::app
