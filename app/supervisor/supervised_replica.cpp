#include "app/supervisor/supervised_replica.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include "app/launch/last_words.hpp"
#include "comm/failure.hpp"
#include "io/run/directory_lock.hpp"
#include "kernels/deadline.hpp"

namespace tenax::app {

namespace fs = std::filesystem;

SupervisedReplica::SupervisedReplica(Options options, std::int64_t incarnation)
    : options_(std::move(options)), policy_(options_.restart), incarnation_(incarnation) {}

std::string SupervisedReplica::seat() const {
  return (options_.is_spare ? "spare-" : "") + std::to_string(options_.replica);
}

// Of all incarnations: a supervisor that was killed has left what it would have removed. What earlier spares of this number
// have started may be replicas.
void SupervisedReplica::remove_scratch() const {
  std::error_code ignored;
  if (!scratch_.empty()) fs::remove_all(scratch_, ignored);
  if (!options_.is_spare) remove_scratch_directories(options_.run_id, seat());
}

ReplicaCommand SupervisedReplica::command() const {
  ReplicaCommand command = options_.command;
  command.arguments = {"--join", directory() / "join"};
  command.scratch = scratch();
  command.process_file = process_file();
  return command;
}

void SupervisedReplica::begin_incarnation() {
  ++incarnation_;
  starts_at_s_.reset();
  dies_at_s_.reset();
  called_at_s_.reset();
  interrupted_at_s_.reset();
  mpirun_.reset();
  policy_.on_start();
  fs::create_directories(directory());
  std::error_code ignored;
  for (const fs::path& file : {directory() / "outcome", process_file()}) fs::remove(file, ignored);
  free_directory();
  log_bytes_ = fs::file_size(directory() / "log", ignored);
  if (ignored) log_bytes_ = 0;
}

// On another host the next one could not tell that this one's lock is dead, and a file server holds that of a host which
// has gone for minutes more. The service has put the last one out of the run.
void SupervisedReplica::free_directory() const {
  if (started_.is_remote() || started_.method == LaunchMethod::srun)
    release_directory();
  else
    io::DirectoryLock::discard(directory());
}

void SupervisedReplica::start(JoinFile join) {
  begin_incarnation();
  scratch_ = scratch_directory(options_.run_id, seat(), incarnation_);
  fs::create_directories(scratch_);
  write_join(std::move(join));
  started_ = command();
  process_.emplace(ReplicaProcess::start(
      {.words = started_.words(), .environment = started_.environment(), .log = directory() / "log"}));
}

void SupervisedReplica::start_as(SupervisedReplica& spare, JoinFile join) {
  begin_incarnation();
  called_at_s_ = kernels::steady_now_s();
  process_ = std::exchange(spare.process_, {});
  scratch_ = std::exchange(spare.scratch_, {});
  started_ = spare.started_;
  std::error_code ignored;
  fs::rename(spare.process_file(), process_file(), ignored);  // absent: it is on this host
  write_join(std::move(join));
}

double SupervisedReplica::age_s() const {
  if (called_at_s_) return kernels::steady_now_s() - *called_at_s_;
  return process_ ? process_->age_s() : 0;
}

void SupervisedReplica::write_join(JoinFile join) const {
  join.replica = options_.is_spare ? JoinFile::kNoReplica : options_.replica;
  join.spare = options_.is_spare ? options_.replica : -1;
  join.incarnation = incarnation_;
  join.slots = options_.command.slots(options_.replica);
  join.write(directory() / "join");
}

bool SupervisedReplica::adopt(const LaunchFile::Replica& known, JoinFile join) {
  auto process = ReplicaProcess::adopt(known.process.id);
  if (!process) return false;
  process_.emplace(std::move(*process));
  incarnation_ = known.incarnation;
  scratch_ = known.scratch;
  started_ = command();
  policy_.on_start();
  write_join(std::move(join));
  return true;
}

void SupervisedReplica::adopt_elsewhere(const LaunchFile::Replica& known, JoinFile join) {
  constexpr double kPatience_s = 60;
  elsewhere_ = known.process;
  unheard_until_s_ = kernels::steady_now_s() + kPatience_s;
  is_abandoned_ = false;
  incarnation_ = known.incarnation;
  scratch_ = known.scratch;
  started_ = command();
  policy_.on_start();
  write_join(std::move(join));
}

void SupervisedReplica::continue_from(std::int64_t incarnation, int starts_in_vain) {
  incarnation_ = std::max(incarnation_, incarnation);
  policy_.continue_from(starts_in_vain);
}

std::optional<SupervisedReplica::End> SupervisedReplica::poll_end() {
  std::erase_if(ending_, [](EndingStep& step) { return step.has_ended(); });
  std::erase_if(ends_, [](RemoteEnd& end) { return end.is_over(); });
  if (elsewhere_ ? !has_ended_elsewhere() : !has_ended_here()) return {};
  const std::optional<int> status = process_ ? process_->end_status() : std::nullopt;
  if (process_ && !status)
    ending_.emplace_back(std::move(*process_));
  else if (process_)
    process_->kill_session();  // ranks that mpirun could not end: they are stopped
  end_on_hosts();
  process_.reset();
  if (elsewhere_) release_directory();
  elsewhere_.reset();
  unheard_until_s_.reset();
  remove_scratch();
  End end{.incarnation = incarnation_, .outcome = Outcome::read(directory() / "outcome"), .reason = {}};
  if (end.outcome && end.outcome->incarnation != incarnation_) end.outcome.reset();
  end.reason =
      end.outcome ? end.outcome->reason : last_words(directory() / "log", log_bytes_, status.value_or(0));
  return end;
}

// Nobody waits long for a srun that is to end its step: while Slurm waits for the rest of one, it may answer no signal.
bool SupervisedReplica::has_ended_here() {
  constexpr double kPatience_s = 1;
  if (!process_) return false;
  return process_->end_status() ||
         (interrupted_at_s_ && kernels::steady_now_s() - *interrupted_at_s_ > kPatience_s);
}

// From another host nobody can see whether its process lives: it is out of the run, and the next one is to begin.
void SupervisedReplica::release_directory() const {
  std::error_code ignored;
  fs::remove(directory() / io::DirectoryLock::kFileName, ignored);
}

// One that is out of the run learns so from the membership service, and ends.
bool SupervisedReplica::has_ended_elsewhere() const {
  if (is_abandoned_) return true;
  const auto outcome = Outcome::read(directory() / "outcome");
  return outcome && outcome->incarnation == incarnation_;
}

void SupervisedReplica::kill() {
  is_abandoned_ = elsewhere_.has_value();
  if (!process_) return;
  if (options_.command.method != LaunchMethod::srun) return process_->kill_session();
  if (interrupted_at_s_) return;
  interrupted_at_s_ = kernels::steady_now_s();
  process_->send(SIGINT);
}

// Of the newest incarnation, which is ending or has ended.
void SupervisedReplica::end_on_hosts() {
  RemoteEnd end(started_, directory() / "log");
  if (!end.is_over()) ends_.push_back(std::move(end));
}

bool SupervisedReplica::is_over() {
  poll_end();
  return !is_running() && ending_.empty() && ends_.empty();
}

void SupervisedReplica::remove_join() const {
  std::error_code ignored;
  fs::remove(directory() / "join", ignored);
}

void SupervisedReplica::plan_restart(double now_s) {
  const auto delay_s = policy_.on_death();
  given_up_ = !delay_s;
  if (delay_s) starts_at_s_ = now_s + *delay_s;
}

std::vector<std::string> SupervisedReplica::hosts() const {
  std::vector<std::string> names;
  for (const HostSlots& host : options_.command.hosts) names.push_back(host.host);
  return names.empty() ? std::vector{comm::this_host()} : names;
}

std::string SupervisedReplica::host_of(int rank) const {
  for (const HostSlots& host : options_.command.hosts)
    if ((rank -= host.slots) < 0) return host.host;
  return hosts().front();
}

LaunchFile::Replica SupervisedReplica::launched() {
  if (!mpirun_ && started_.is_remote()) mpirun_ = read_remote_process(process_file());
  std::optional<LaunchFile::Process> mpirun;
  if (mpirun_) mpirun = {started_.hosts.front().host, *mpirun_};
  return {.replica = options_.replica,
          .incarnation = incarnation_,
          .process = elsewhere_ ? *elsewhere_ : LaunchFile::Process{comm::this_host(), process_->id()},
          .scratch = scratch_,
          .hosts = host_texts(options_.command.hosts),
          .mpirun = mpirun};
}

}  // namespace tenax::app
