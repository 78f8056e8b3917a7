// SupervisedReplica: one replica of a run, or a warm spare, through all its incarnations.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/launch/ending_step.hpp"
#include "app/launch/launch_files.hpp"
#include "app/launch/remote_end.hpp"
#include "app/launch/replica_command.hpp"
#include "app/launch/replica_process.hpp"
#include "app/launch/restart_policy.hpp"

namespace tenax::app {

/// Used by one thread. Seconds are those of the steady clock.
class SupervisedReplica {
 public:
  struct Options {
    int replica = 0;                  ///< of a warm spare: its number among them
    std::filesystem::path directory;  ///< its own in the run's
    std::string run_id;
    bool is_spare = false;
    RestartPolicy::Options restart;
    ReplicaCommand command;  ///< without arguments and scratch
  };
  /// How an incarnation ended.
  struct End {
    std::int64_t incarnation = 0;
    std::optional<Outcome> outcome;  ///< what its rank 0 left
    std::string reason;              ///< that of the outcome, else its last words
  };

  /// `incarnation`: the newest there ever was.
  SupervisedReplica(Options options, std::int64_t incarnation);

  /// Throws kernels::Error(rank) where mpirun cannot be started. `join`: all but the incarnation.
  void start(JoinFile join);
  /// The same by what `spare` has started, which is this replica's from now on.
  void start_as(SupervisedReplica& spare, JoinFile join);
  /// Takes over what an earlier supervisor has started, if it still runs, and tells it where the
  /// service is now.
  bool adopt(const LaunchFile::Replica& known, JoinFile join);
  /// The same where its mpirun was started on another host: whether it still runs, only the membership
  /// service hears. It has ended when it says so, or is killed.
  void adopt_elsewhere(const LaunchFile::Replica& known, JoinFile join);
  /// Once for each incarnation, when its processes have ended; leaves nothing behind.
  std::optional<End> poll_end();
  /// Ends what is there, and all that it started; a step of Slurm's while poll_end() is asked.
  void kill();
  /// After kill(), instead of poll_end(): whether nothing of it is left, on any host.
  bool is_over();
  /// It starts no more.
  void remove_join() const;
  /// Where no process of it is left: removes what killed ones have left in memory on this host.
  void remove_scratch() const;
  /// Ends it then, if it has not ended by itself: it may still say why it does.
  void kill_at(double time_s) { dies_at_s_ = time_s; }
  bool is_overdue(double now_s) const {
    return (dies_at_s_ && now_s >= *dies_at_s_) || (unheard_until_s_ && now_s >= *unheard_until_s_);
  }

  /// It starts there the next time.
  void move_to(const std::vector<HostSlots>& hosts) { options_.command.hosts = hosts; }
  /// It does not start before.
  void start_later(double time_s) { starts_at_s_ = time_s; }
  /// Of its next start, the time that plan_restart() has found, or start_later() was told.
  std::optional<double> starts_at_s() const { return starts_at_s_; }
  /// It died now: when it starts again, or never.
  void plan_restart(double now_s);
  /// Not while earlier ones may still be there.
  bool is_due(double now_s) const { return starts_at_s_ && now_s >= *starts_at_s_ && ends_.empty(); }
  bool is_running() const { return process_ || elsewhere_; }
  bool is_given_up() const { return given_up_; }
  /// Its newest start has completed no step.
  bool is_in_vain() const { return policy_.starts_in_vain() > 0; }
  void on_commit() { policy_.on_commit(); }
  /// The membership service has heard of it.
  void on_heard() { unheard_until_s_.reset(); }
  /// What an earlier supervisor has counted, of all starts up to this incarnation.
  void continue_from(std::int64_t incarnation, int starts_in_vain);
  int starts_in_vain() const { return policy_.starts_in_vain(); }

  int number() const { return options_.replica; }
  std::int64_t incarnation() const { return incarnation_; }
  /// Seconds since the start of what runs; 0 where nothing does.
  double age_s() const;
  std::vector<std::string> hosts() const;
  /// Of a rank, where ranks fill hosts in order; of −1 the first.
  std::string host_of(int rank) const;
  /// Of what runs. What a remote mpirun says of itself is read until it is there.
  LaunchFile::Replica launched();
  /// As the newest incarnation was started.
  ReplicaCommand command() const;
  /// Of the newest incarnation: its name is this start's alone.
  const std::filesystem::path& scratch() const { return scratch_; }
  const std::filesystem::path& directory() const { return options_.directory; }

 private:
  std::string seat() const;
  void begin_incarnation();
  bool has_ended_here();
  bool has_ended_elsewhere() const;
  void release_directory() const;
  void free_directory() const;
  void write_join(JoinFile join) const;
  std::filesystem::path process_file() const { return directory() / "mpirun"; }
  void end_on_hosts();

  Options options_;
  RestartPolicy policy_;
  std::int64_t incarnation_;
  std::optional<ReplicaProcess> process_;
  std::optional<LaunchFile::Process> elsewhere_;  // where an earlier supervisor has started it
  std::optional<double> unheard_until_s_;         // it may never have got that far
  bool is_abandoned_ = false;                     // the one that runs elsewhere is out of the run
  std::uintmax_t log_bytes_ = 0;                  // before this incarnation
  std::filesystem::path scratch_;
  std::optional<double> called_at_s_;  // of one that was a warm spare before
  std::optional<double> starts_at_s_, dies_at_s_;
  std::optional<double> interrupted_at_s_;  // its srun
  std::vector<EndingStep> ending_;          // of earlier incarnations
  ReplicaCommand started_;                  // the newest one
  std::optional<ProcessId> mpirun_;         // its own, on another host, once it has said so
  std::vector<RemoteEnd> ends_;
  bool given_up_ = false;
};

}  // namespace tenax::app
