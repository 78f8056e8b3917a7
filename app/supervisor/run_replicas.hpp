// RunReplicas: all replicas of a run: starts, buries and places them, and starts them again, or calls warm spares.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/console.hpp"
#include "app/launch/host_pool.hpp"
#include "app/supervisor/hang_watch.hpp"
#include "app/supervisor/shared_failures.hpp"
#include "app/supervisor/supervised_replica.hpp"
#include "app/supervisor/supervisor_records.hpp"
#include "app/supervisor/take_over.hpp"
#include "app/supervisor/warm_spares.hpp"
#include "resilience/replicas/membership_server.hpp"

namespace tenax::app {

/// Used by one thread. Seconds are those of the steady clock.
class RunReplicas {
 public:
  /// Who is told of what happens to replicas.
  struct Listeners {
    resilience::MembershipServer& service;
    SupervisorRecords& records;
    HangWatch& hangs;
    Console& console;
  };
  /// None of `replicas` and `spares` runs. `join`: what they are started with, but for the replica, its incarnation and
  /// its place.
  /// All listeners outlive it.
  RunReplicas(std::vector<SupervisedReplica> replicas, std::vector<SupervisedReplica> spares, HostPool hosts,
              JoinFile join, std::filesystem::path run_directory, Listeners listeners);
  RunReplicas(const RunReplicas&) = delete;
  RunReplicas& operator=(const RunReplicas&) = delete;

  /// An earlier supervisor has started it, and it was found living.
  void adopt(const LaunchFile::Replica& known);
  /// Where all that were adopted are of this host, and some of `holders`, the members of the last epoch, among them: until one of
  /// these is heard, none of the others is started.
  void await(const std::vector<resilience::ReplicaId>& holders, double now_s);
  /// All of them have ended, unheard: nobody has told what was done since the supervisor before died.
  bool has_adopted_in_vain() const { return take_over_.is_in_vain(); }
  /// What the last supervisor has published (RunStore).
  void continue_from(const std::string& published);
  std::string to_publish() const;
  /// Incarnations up to the newest of each that does not run ended with an earlier start of the run.
  void ignore_earlier();
  /// All that do not run, once nobody is awaited.
  void start(double now_s);
  /// Some moments' work; `may_start`: those that are due start again. Throws kernels::Error(job) where none can
  /// train.
  void watch(double now_s, bool may_start);
  /// The run is over, and nothing runs.
  bool have_ended() const;
  /// Ends all that runs, at once, and leaves nothing behind: takes at most 20 s.
  void end();

  void on_epoch();
  /// The membership service has heard of it.
  void on_seen(const resilience::ReplicaSeen& seen);
  void on_commit(const resilience::CommitRecord& commit);
  void on_lost(const resilience::ReplicaLost& lost, double now_s);
  /// The replicas that are wrong start elsewhere, where there is room.
  void on_corrupt(const resilience::StateCorrupt& corrupt);
  /// Of a rank of it; of rank −1 its first.
  std::string host_of(int replica, int rank) const { return at(replica).host_of(rank); }
  void on_spare_seen(const resilience::SpareSeen& seen) { spares_.on_seen(seen.spare, seen.is_ready); }
  /// Of the incarnation that runs.
  resilience::ReplicaId id(int replica) const;
  double age_s(int replica) const { return at(replica).age_s(); }

 private:
  /// The run has it.
  SupervisedReplica& at(int replica) { return replicas_.at(static_cast<std::size_t>(replica)); }
  const SupervisedReplica& at(int replica) const { return replicas_.at(static_cast<std::size_t>(replica)); }
  JoinFile join_of(const SupervisedReplica& replica) const;
  void start(SupervisedReplica& replica);
  /// A warm spare that can take its place.
  std::optional<int> spare_for(const SupervisedReplica& replica) const;
  void start_again(SupervisedReplica& replica, double now_s);
  void call_spare(SupervisedReplica& replica, int spare, double now_s);
  void tell_start(const SupervisedReplica& replica);
  bool may_begin() const { return !take_over_.is_awaited() && !take_over_.is_in_vain(); }
  void look_for_end(SupervisedReplica& replica, double now_s);
  void bury(SupervisedReplica& replica, const SupervisedReplica::End& end, double now_s);
  /// It ran on `host` last.
  void give_up(const SupervisedReplica& replica, const std::string& host, const std::string& reason);
  void place(SupervisedReplica& replica);
  void leave_host(SupervisedReplica& replica, double now_s);
  bool are_over();
  void write_launch_file();
  bool has_launch_file() const;
  void remove_all_scratch() const;

  std::vector<SupervisedReplica> replicas_;
  HostPool hosts_;     // empty where the deck names none
  WarmSpares spares_;  // on hosts_
  JoinFile join_;
  std::filesystem::path run_directory_;
  Listeners to_;
  SharedFailures failures_;
  TakeOver take_over_;
  std::map<int, std::string> lost_hosts_;  // on which a replica was lost last, by replica
  std::set<int> corrupt_;                  // replicas whose state was wrong, until they are buried
  std::map<int, std::string> unsaid_;      // why a replica failed, by replica
  std::optional<double> ended_at_s_;
  bool has_changed_ = false;  // since launch.json was written
};

}  // namespace tenax::app
