#include "app/supervisor/run_replicas.hpp"

#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "app/supervisor/replica_counts.hpp"
#include "app/units.hpp"
#include "comm/failure.hpp"
#include "io/json.hpp"
#include "kernels/deadline.hpp"

namespace tenax::app {

namespace fs = std::filesystem;
using io::JsonObject;
using kernels::Error;
using kernels::Scope;
using resilience::ReplicaId;

namespace {

/// A replica that has been told to end, in order or because it is lost, has so long for it.
constexpr double kEndGrace_s = 20;
/// One whose link has closed is ending, most likely.
constexpr double kLastWords_s = 1;
/// The same where a warm spare waits for its place.
constexpr double kLastWordsBeforeSpare_s = 0.1;

ReplicaId newest(const SupervisedReplica& replica) {
  return {replica.number(), static_cast<int>(replica.incarnation())};
}

}  // namespace

RunReplicas::RunReplicas(std::vector<SupervisedReplica> replicas, std::vector<SupervisedReplica> spares,
                         HostPool hosts, JoinFile join, fs::path run_directory, Listeners listeners)
    : replicas_(std::move(replicas)),
      hosts_(std::move(hosts)),
      spares_(std::move(spares), hosts_, listeners.console),
      join_(std::move(join)),
      run_directory_(std::move(run_directory)),
      to_(listeners),
      failures_(replicas_.size()) {}

void RunReplicas::adopt(const LaunchFile::Replica& known) {
  SupervisedReplica& replica = at(known.replica);
  failures_.on_begun();
  hosts_.continue_on(known.replica, parse_hosts(known.hosts));
  if (hosts_.is_on_spare(known.replica)) place(replica);
  if (known.process.host == comm::this_host()) {
    replica.adopt(known, join_of(replica));
  } else {
    replica.adopt_elsewhere(known, join_of(replica));
  }
  to_.hangs.follow(replica.number(), replica.command());
  to_.service.on_started(newest(replica));
}

// What runs on other hosts may outlive its mpirun here, and what is lost there may not be dead.
void RunReplicas::await(const std::vector<ReplicaId>& holders, double now_s) {
  std::set<int> awaited;
  for (const SupervisedReplica& replica : replicas_) {
    if (!replica.is_running()) continue;
    const ReplicaCommand command = replica.command();
    if (command.is_remote() || command.method == LaunchMethod::srun) return;
    if (std::find(holders.begin(), holders.end(), newest(replica)) != holders.end())
      awaited.insert(replica.number());
  }
  if (!awaited.empty()) take_over_.begin(std::move(awaited), now_s);
}

void RunReplicas::continue_from(const std::string& published) {
  for (const std::string& host : parse_hosts_out(published)) hosts_.continue_without(host);
  for (SupervisedReplica& replica : replicas_)
    if (hosts_.is_on_spare(replica.number())) place(replica);
  for (const ReplicaCounts& counts : parse_counts(published))
    if (counts.replica >= 0 && static_cast<std::size_t>(counts.replica) < replicas_.size())
      at(counts.replica).continue_from(counts.incarnation, counts.starts_in_vain);
}

std::string RunReplicas::to_publish() const {
  std::vector<ReplicaCounts> counts;
  for (const SupervisedReplica& replica : replicas_)
    counts.push_back({replica.number(), replica.incarnation(), replica.starts_in_vain()});
  return counts_text(counts, hosts_.set_aside());
}

void RunReplicas::ignore_earlier() {
  for (const SupervisedReplica& replica : replicas_)
    if (!replica.is_running()) to_.records.ignore_up_to(newest(replica));
}

void RunReplicas::start(double now_s) {
  for (SupervisedReplica& replica : replicas_) {
    if (replica.is_running()) continue;
    if (replica.incarnation() > 0) to_.service.on_exit(newest(replica));
    may_begin() ? start(replica) : replica.start_later(now_s);
  }
  write_launch_file();
}

// A step of Slurm's has cores of its own. Without hosts all are on this one.
JoinFile RunReplicas::join_of(const SupervisedReplica& replica) const {
  JoinFile join = join_;
  join.replicas_on_host = 1;
  if (replica.command().method != LaunchMethod::srun)
    join.replicas_on_host = hosts_.is_empty() ? static_cast<int>(replicas_.size())
                                              : hosts_.most_replicas(hosts_.hosts_of(replica.number()));
  return join;
}

void RunReplicas::start(SupervisedReplica& replica) {
  if (const auto failed = unsaid_.extract(replica.number()))
    to_.console.warn(format("replica %d starts again: %s", replica.number(), failed.mapped().c_str()));
  replica.start(join_of(replica));
  tell_start(replica);
}

// A spare knows its place from the replica's join file.
void RunReplicas::call_spare(SupervisedReplica& replica, int spare, double now_s) {
  hosts_.hand_over(replica.number(), spare);
  place(replica);
  replica.start_as(spares_.at(spare), join_of(replica));
  spares_.on_called(spare, now_s);
  tell_start(replica);
  to_.console.say(format("warm spare %d takes the place of replica %d", spare, replica.number()));
  if (!to_.service.call_spare(spare, newest(replica))) replica.kill();
}

void RunReplicas::tell_start(const SupervisedReplica& replica) {
  to_.hangs.follow(replica.number(), replica.command());
  has_changed_ = true;
  to_.records.started(replica.number(), JsonObject{}
                                            .add("incarnation", replica.incarnation())
                                            .add("hosts", replica.hosts())
                                            .add("spare", hosts_.is_on_spare(replica.number())));
}

// Of all replicas: to write it for each of them takes too long where they are many.
void RunReplicas::write_launch_file() {
  has_changed_ = false;
  LaunchFile file{
      .supervisor = {.host = comm::this_host(), .id = this_process()}, .replicas = {}, .service = {}};
  for (SupervisedReplica& replica : replicas_)
    if (replica.is_running()) file.replicas.push_back(replica.launched());
  file.service = comm::plain_address(join_.service.front());
  if (const std::size_t kind = file.service.find(':'); kind != std::string::npos)
    file.service.erase(0, kind + 1);
  file.write(run_directory_ / "launch.json");
}

// A run whose directory is gone has none, and ends.
bool RunReplicas::has_launch_file() const {
  std::error_code none;
  return std::filesystem::exists(run_directory_ / "launch.json", none);
}

void RunReplicas::watch(double now_s, bool may_start) {
  for (SupervisedReplica& replica : replicas_) look_for_end(replica, now_s);
  take_over_.on_time(now_s);
  const bool is_time = may_start && !ended_at_s_ && may_begin();
  spares_.watch(now_s, is_time, join_);
  for (SupervisedReplica& replica : replicas_)
    if (is_time && !replica.is_running()) start_again(replica, now_s);
  if (has_changed_ && (may_start || has_launch_file())) write_launch_file();
  if (const auto reason = failures_.shared_reason()) throw Error(Scope::job, *reason);
  if (to_.service.has_ended() && !ended_at_s_) ended_at_s_ = now_s;
}

void RunReplicas::look_for_end(SupervisedReplica& replica, double now_s) {
  if (replica.is_overdue(now_s)) replica.kill();
  if (const auto end = replica.poll_end()) bury(replica, *end, now_s);
  if (ended_at_s_ && now_s - *ended_at_s_ > kEndGrace_s) replica.kill();
}

// What fails before the run has begun would fail on any host.
std::optional<int> RunReplicas::spare_for(const SupervisedReplica& replica) const {
  if (!failures_.has_begun()) return {};
  return hosts_.choose_spare(replica.number(), spares_.ready());
}

// A spare that is ready need not wait for a repair.
void RunReplicas::start_again(SupervisedReplica& replica, double now_s) {
  const auto spare = replica.starts_at_s() ? spare_for(replica) : std::nullopt;
  if (spare)
    call_spare(replica, *spare, now_s);
  else if (replica.is_due(now_s))
    start(replica);
}

void RunReplicas::bury(SupervisedReplica& replica, const SupervisedReplica::End& end, double now_s) {
  has_changed_ = true;
  to_.hangs.forget(replica.number());
  if (end.outcome && end.outcome->status == 0) to_.service.on_run_ended();
  const ReplicaId id{replica.number(), static_cast<int>(end.incarnation)};
  to_.service.on_exit(id);
  if (ended_at_s_ || to_.service.has_ended()) return;
  take_over_.on_end(replica.number());
  if (has_adopted_in_vain()) return;  // the run begins anew
  failures_.on_failure(replica.number(), end);
  if (replica.is_in_vain()) unsaid_[replica.number()] = end.reason;
  const std::string host = replica.hosts().front();
  if (!to_.service.has_refused(id)) leave_host(replica, now_s);
  replica.plan_restart(now_s);
  if (replica.is_given_up()) give_up(replica, host, end.reason);
}

void RunReplicas::give_up(const SupervisedReplica& replica, const std::string& host,
                          const std::string& reason) {
  failures_.on_given_up(replica.number());
  to_.service.on_given_up(replica.number());
  to_.records.given_up(newest(replica), host);
  unsaid_.erase(replica.number());
  const bool are_all = std::all_of(replicas_.begin(), replicas_.end(),
                                   [](const SupervisedReplica& other) { return other.is_given_up(); });
  if (are_all)
    throw Error(Scope::job,
                "all replicas have failed too often without completing a step; the last one: " + reason);
  to_.console.warn(format("replica %d is given up: %s", replica.number(), reason.c_str()));
}

void RunReplicas::place(SupervisedReplica& replica) {
  replica.move_to(hosts_.hosts_of(replica.number()));
  to_.service.on_zone(replica.number(), hosts_.zone_of(replica.number()));
}

// A host that ends replicas again and again is worse than any other.
void RunReplicas::leave_host(SupervisedReplica& replica, double now_s) {
  if (hosts_.is_empty()) return;
  const bool is_corrupt = corrupt_.erase(replica.number()) > 0;
  const auto out = hosts_.on_death(replica.number(), lost_hosts_[replica.number()], now_s, is_corrupt);
  place(replica);
  if (!out) return;
  to_.records.host_event("host_out", out->host, JsonObject{}.add("failures", out->failures));
  to_.console.warn(
      format("host %s is set aside, where replicas died %d times in an hour: replica %d starts on %s",
             out->host.c_str(), out->failures, replica.number(), replica.hosts().front().c_str()));
}

void RunReplicas::on_epoch() {
  failures_.on_begun();
  if (join_.resume == "never") join_.resume = "auto";  // the run's own checkpoints count
}

void RunReplicas::on_seen(const resilience::ReplicaSeen& seen) {
  SupervisedReplica& replica = at(seen.id.replica);
  const bool is_newest = replica.incarnation() == seen.id.incarnation;
  if (is_newest) replica.on_heard();
  if (is_newest && seen.holds_state) take_over_.on_heard(replica.number());
  has_changed_ = true;  // a remote process has told by now which it is
}

void RunReplicas::on_commit(const resilience::CommitRecord& commit) {
  failures_.on_commit();
  for (const resilience::Part& part : commit.parts) at(part.replica).on_commit();
}

void RunReplicas::on_lost(const resilience::ReplicaLost& lost, double now_s) {
  SupervisedReplica& replica = at(lost.id.replica);
  lost_hosts_[replica.number()] = lost.host;
  if (replica.incarnation() != lost.id.incarnation) return;
  const bool ends_itself = lost.reason == resilience::LossReason::connection;
  const double last_words_s = spare_for(replica) ? kLastWordsBeforeSpare_s : kLastWords_s;
  replica.kill_at(now_s + (ends_itself ? last_words_s : 0));
}

void RunReplicas::on_corrupt(const resilience::StateCorrupt& corrupt) {
  if (corrupt.is_tie) return;
  for (const ReplicaId& id : corrupt.replicas) corrupt_.insert(id.replica);
}

ReplicaId RunReplicas::id(int replica) const { return newest(at(replica)); }

bool RunReplicas::have_ended() const {
  return ended_at_s_ && std::none_of(replicas_.begin(), replicas_.end(),
                                     [](const SupervisedReplica& replica) { return replica.is_running(); });
}

// A host that answers late, or never, holds up no other.
void RunReplicas::end() {
  const auto latest = kernels::Deadline::after_s(kEndGrace_s);
  for (SupervisedReplica& replica : replicas_) replica.kill();
  spares_.kill();
  while (!are_over() && !latest.expired()) usleep(10000);
  for (const SupervisedReplica& replica : replicas_) replica.remove_join();
  spares_.remove_joins();
  remove_all_scratch();
}

// Asks each: what is killed takes its next step to the end then.
bool RunReplicas::are_over() {
  const auto left = std::count_if(replicas_.begin(), replicas_.end(),
                                  [](SupervisedReplica& replica) { return !replica.is_over(); });
  return spares_.are_over() && left == 0;
}

// A supervisor that was killed has left what it would have removed.
void RunReplicas::remove_all_scratch() const {
  if (std::any_of(replicas_.begin(), replicas_.end(),
                  [](const auto& replica) { return replica.is_running(); }))
    return;
  remove_scratch_directories(join_.run_id, "");
}

}  // namespace tenax::app
