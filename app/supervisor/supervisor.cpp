#include "app/supervisor/supervisor.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <sstream>
#include <utility>

#include "app/supervisor/replica_counts.hpp"
#include "app/supervisor/supervisor_parts.hpp"
#include "app/units.hpp"
#include "comm/failure.hpp"
#include "io/checksum.hpp"
#include "io/json.hpp"
#include "io/run/metrics_lines.hpp"
#include "io/run/seized_run.hpp"
#include "io/whole_file.hpp"
#include "resilience/checkpoint/checkpoint_directory.hpp"

namespace tenax::app {

namespace fs = std::filesystem;
using io::JsonObject;
using kernels::Error;
using kernels::Scope;
using kernels::steady_now_s;

namespace {

/// A replica that has been told to end, in order or because it is lost, has so long for it.
constexpr double kGrace_s = 20;
/// One whose link has closed is ending, most likely.
constexpr double kLastWords_s = 1;

constexpr std::int64_t kMostDeckBytes = 4 << 20;

std::string random_id() {
  std::array<std::byte, 8> bytes;
  comm::fill_randomly(bytes);
  return io::checksum_text(std::bit_cast<std::uint64_t>(bytes));
}

// A resolved deck without what each supervisor has of its own: it may reach etcd in another way.
std::string of_replicas(const std::string& deck) {
  std::istringstream lines(deck);
  std::string text;
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("resume =") && !line.starts_with("max_minutes =") && !line.starts_with("store"))
      text += line + "\n";
  return text;
}

}  // namespace

Supervisor::Supervisor(RunRank& rank, const Build& build, RunStanding* standing)
    : rank_(rank), build_(build), standing_(standing) {
  const io::Deck& deck = rank.deck();
  if (standing_ && standing_->takes_over()) io::seize_run(deck.run.output_dir, deck.checkpoint.dir);
  find_living();
  state_.reset(takes_over() ? new RunState(RunState::of_successor(rank)) : new RunState(rank));
}

// A supervisor that lives holds the run's lock: then nothing comes of what is found here.
void Supervisor::find_living() {
  const fs::path run = rank_.deck().run.output_dir;
  const auto file = LaunchFile::read(run / "launch.json");
  if (!file) return;
  const bool takes_over = standing_ && standing_->takes_over();
  for (const LaunchFile::Replica& replica : file->replicas) {
    const bool is_here = replica.process.host == comm::this_host();
    if (is_here ? ReplicaProcess::adopt(replica.process.id).has_value() : takes_over)
      living_.push_back(replica);
  }
}

Supervisor::~Supervisor() {
  server_.reset();
  if (records_ && !is_deposed()) clean_up();
}

void Supervisor::release(const std::string& reason, int status) {
  if (etcd_)
    etcd_->release({.host = comm::this_host(), .reason = reason, .status = status});
  else if (standing_)
    standing_->lease().release({.host = comm::this_host(), .reason = reason, .status = status});
}

void Supervisor::start() {
  if (takes_over())
    take_over();
  else
    begin_run();
  records_->event("launch", {}, JsonObject{}.add("adopted", static_cast<std::int64_t>(living_.size())));
  if (standing_ && standing_->has_waited())
    records_->event("standby", {}, JsonObject{}.add("took_over", standing_->takes_over()));
  start_replicas();
}

void Supervisor::open_store() {
  ledger_ = std::make_unique<resilience::LedgerStore>(rank_.deck().run.output_dir);
  if (standing_) etcd_ = std::make_unique<resilience::EtcdStore>(standing_->lease(), *ledger_);
}

void Supervisor::begin_run() {
  const io::Deck& deck = rank_.deck();
  state_->check_disk();
  state_->open_directory();
  if (deck.checkpoint.interval >= 0) resilience::prepare_checkpoint_directory(deck.checkpoint.dir);
  records_ = std::make_unique<SupervisorRecords>(deck, rank_.console(), state_->steps());
  checkpoints_.emplace(deck, *records_, rank_.console());
  open_store();
  const auto secret = comm::JobSecret::draw();
  run_id_ = random_id();
  secret_ = secret.text();
  deck_ = io::to_toml(deck);
  const auto stored = record_store().load();
  hosts_ = host_pool(deck);
  replicas_ = supervised_replicas(deck, run_id_, hosts_, stored);
  create_service(secret, stored);
}

// The ledger is ahead of what is made from it.
void Supervisor::take_over() {
  const io::Deck& deck = rank_.deck();
  const fs::path run = deck.run.output_dir;
  const JoinFile join = JoinFile::read(replica_directory(run, living_.front().replica) / "join");
  adopt_deck(join);
  run_id_ = join.run_id;
  secret_ = join.secret;
  has_begun_ = true;
  open_store();
  const auto stored = record_store().load();
  records_ = std::make_unique<SupervisorRecords>(deck, rank_.console(), io::recorded_metrics(run).steps);
  checkpoints_.emplace(deck, *records_, rank_.console());
  const Unrecorded unrecorded = unrecorded_commits(stored, records_->steps_done());
  records_->continue_from(unrecorded.since_s);
  for (const resilience::CommitRecord& commit : unrecorded.commits) records_->hand_in(commit);
  hosts_ = host_pool(deck);
  replicas_ = supervised_replicas(deck, run_id_, hosts_, stored);
  create_service(comm::JobSecret::parse(secret_), stored);
  for (const LaunchFile::Replica& known : living_) adopt(known);
  continue_counts();
  rank_.console().say(format("took over %d living replica%s", static_cast<int>(living_.size()),
                             living_.size() == 1 ? "" : "s"));
}

void Supervisor::adopt(const LaunchFile::Replica& known) {
  SupervisedReplica& replica = replicas_[static_cast<std::size_t>(known.replica)];
  if (known.process.host == comm::this_host()) {
    replica.adopt(known, join_file());
    hangs_->follow(replica.number(), replica.scratch());
  } else {
    replica.adopt_elsewhere(known, join_file());
  }
  server_->on_started({replica.number(), static_cast<int>(replica.incarnation())});
}

void Supervisor::continue_counts() {
  if (!etcd_) return;
  for (const std::string& host : parse_hosts_out(etcd_->stored_replicas())) hosts_.continue_without(host);
  for (SupervisedReplica& replica : replicas_)
    if (hosts_.is_on_spare(replica.number())) place(replica);
  for (const ReplicaCounts& counts : parse_counts(etcd_->stored_replicas()))
    if (counts.replica >= 0 && static_cast<std::size_t>(counts.replica) < replicas_.size())
      replicas_[static_cast<std::size_t>(counts.replica)].continue_from(counts.incarnation,
                                                                        counts.starts_in_vain);
}

// Replicas of another program or deck could not go on with this supervisor. Nothing is touched yet.
void Supervisor::adopt_deck(const JoinFile& join) {
  const std::string living = "living replicas of this run have ";
  if (join.build != build_.text())
    throw Error(Scope::job, living + "build " + join.build + ", this is " + build_.text() +
                                ": call the program that started them");
  if (const auto failure = io::read_text_file(join.deck, deck_, kMostDeckBytes))
    io::throw_file_error("read", join.deck, failure);
  if (of_replicas(deck_) != of_replicas(io::to_toml(rank_.deck())))
    throw Error(Scope::job, living + "another deck, " + join.deck + ": start with it, or end them first");
}

void Supervisor::start_replicas() {
  for (SupervisedReplica& replica : replicas_) {
    if (replica.is_running()) continue;
    const resilience::ReplicaId earlier{replica.number(), static_cast<int>(replica.incarnation())};
    if (!takes_over()) records_->ignore_up_to(earlier);
    if (earlier.incarnation > 0) server_->on_exit(earlier);
    start_replica(replica);
  }
  write_launch_file();
}

void Supervisor::create_service(const comm::JobSecret& secret,
                                const std::vector<resilience::Record>& stored) {
  hangs_.emplace(hang_options(rank_.deck()));
  server_ = std::make_unique<resilience::MembershipServer>(
      service_options(rank_.deck(), build_, deck_, hosts_, secret), record_store(), stored,
      resilience::MembershipServer::Observer{
          .on_record = [this](const resilience::Record& record) { records_->hand_in(record); },
          .on_event = [this](const resilience::ServiceEvent& event) { records_->hand_in(event); }});
  if (etcd_) etcd_->set_service(server_->addresses());
}

resilience::RecordStore& Supervisor::record_store() {
  if (etcd_) return *etcd_;
  return *ledger_;
}

// For the one that may come after this.
void Supervisor::publish() {
  if (!etcd_) return;
  std::vector<ReplicaCounts> counts;
  for (const SupervisedReplica& replica : replicas_)
    counts.push_back({replica.number(), replica.incarnation(), replica.starts_in_vain()});
  etcd_->set_replicas(counts_text(counts, hosts_.set_aside()));
  if (const auto notice = etcd_->take_notice()) rank_.console().warn(*notice);
}

void Supervisor::check_in_charge() {
  if (etcd_) etcd_->check_in_charge();
}

JoinFile Supervisor::join_file() const {
  const fs::path run = rank_.deck().run.output_dir;
  return {.run_id = run_id_,
          .secret = secret_,
          .deck = run / "deck.toml",
          .build = build_.text(),
          .resume = has_begun_ ? "auto" : rank_.deck().run.resume,
          .service = server_->addresses()};
}

void Supervisor::start_replica(SupervisedReplica& replica) {
  if (const auto failed = unsaid_.extract(replica.number()))
    rank_.console().warn(format("replica %d starts again: %s", replica.number(), failed.mapped().c_str()));
  replica.start(join_file());
  hangs_->follow(replica.number(), replica.scratch());
  write_launch_file();
  records_->event("replica_start", replica.number(),
                  JsonObject{}
                      .add("incarnation", replica.incarnation())
                      .add("hosts", replica.hosts())
                      .add("spare", hosts_.is_on_spare(replica.number())));
}

void Supervisor::write_launch_file() const {
  LaunchFile file{
      .supervisor = {.host = comm::this_host(), .id = this_process()}, .replicas = {}, .service = {}};
  for (const SupervisedReplica& replica : replicas_)
    if (replica.is_running()) file.replicas.push_back(replica.launched());
  file.service = comm::plain_address(server_->addresses().front());
  if (const std::size_t kind = file.service.find(':'); kind != std::string::npos)
    file.service.erase(0, kind + 1);
  file.write(fs::path(rank_.deck().run.output_dir) / "launch.json");
}

bool Supervisor::advance(const Requests& requests) {
  check_in_charge();
  if (requests.end) throw Error(Scope::job, "ended at once, as asked");
  time_is_up_ = time_is_up_ || (!stops_ && time_is_up());
  if ((requests.stop || time_is_up_) && !std::exchange(stops_, true)) server_->wish_stop();
  take_news();
  publish();
  if (const auto failure = server_->failure()) failure->raise();
  check_in_charge();
  for (SupervisedReplica& replica : replicas_) watch(replica);
  if (!stops_ && !server_->has_ended()) watch_for_hangs();
  check_first_starts();
  if (server_->has_ended() && !ended_at_s_) ended_at_s_ = steady_now_s();
  if (!has_all_ended()) return true;
  take_news();  // what came since
  return false;
}

bool Supervisor::time_is_up() const {
  const double limit_s = rank_.deck().run.max_minutes * 60;
  return limit_s > 0 && steady_now_s() - started_s_ >= limit_s;
}

std::string Supervisor::end_reason() const {
  if (steps_done() >= rank_.deck().run.train_steps) return "completed";
  return time_is_up_ ? "time_limit" : "signal";
}

void Supervisor::take_news() {
  for (const SupervisorRecords::News& news : records_->write()) take(news);
}

void Supervisor::take(const SupervisorRecords::News& news) {
  const auto* record = std::get_if<resilience::Record>(&news);
  const auto* event = std::get_if<resilience::ServiceEvent>(&news);
  if (record)
    if (const auto* epoch = std::get_if<resilience::EpochRecord>(record)) {
      has_begun_ = true;
      hangs_->pause(steady_now_s());
      for (const auto& member : epoch->members)
        replicas_[static_cast<std::size_t>(member.id.replica)].on_member();
    }
  if (record)
    if (const auto* commit = std::get_if<resilience::CommitRecord>(record))
      for (const resilience::Part& part : commit->parts)
        replicas_[static_cast<std::size_t>(part.replica)].on_commit();
  if (!event) return;
  if (const auto* validated = std::get_if<resilience::StepValidated>(event))
    server_->on_validation_recorded(validated->validated.done);
  if (const auto* observed = std::get_if<resilience::ReplicaObserved>(event))
    server_->on_observation_recorded(observed->id, observed->observed.number);
  if (const auto* joined = std::get_if<resilience::ReplicaJoined>(event)) {
    records_->join(*joined, replicas_[static_cast<std::size_t>(joined->id.replica)].age_s());
    server_->on_join_recorded(joined->id, joined->joined.epoch);
  }
  if (const auto* saved = std::get_if<resilience::CheckpointSaved>(event)) checkpoints_->take(*saved);
  if (const auto* voided = std::get_if<resilience::StepsVoided>(event)) checkpoints_->take(*voided);
  if (const auto* lost = std::get_if<Lost>(event)) {
    SupervisedReplica& replica = replicas_[static_cast<std::size_t>(lost->id.replica)];
    lost_hosts_[replica.number()] = lost->host;
    const bool ends_itself = lost->reason == resilience::LossReason::connection;
    if (replica.incarnation() == lost->id.incarnation)
      replica.kill_at(steady_now_s() + (ends_itself ? kLastWords_s : 0));
    checkpoints_->forget(lost->id);
    hangs_->pause(steady_now_s());
  }
}

void Supervisor::watch(SupervisedReplica& replica) {
  if (replica.is_overdue(steady_now_s())) replica.kill();
  if (const auto end = replica.poll_end()) bury(replica, *end);
  const bool may_start = !ended_at_s_ && !stops_;
  if (may_start && replica.is_due(steady_now_s())) start_replica(replica);
  if (ended_at_s_ && steady_now_s() - *ended_at_s_ > kGrace_s) replica.kill();
}

// The service loses it, and what is lost is killed and started again.
void Supervisor::watch_for_hangs() {
  const auto hang = hangs_->look(steady_now_s());
  if (!hang) return;
  SupervisedReplica& replica = replicas_[static_cast<std::size_t>(hang->replica)];
  records_->hang(hang->replica, hang->dump, hang->blame);
  server_->on_hang({replica.number(), static_cast<int>(replica.incarnation())}, hang->rank);
}

void Supervisor::bury(SupervisedReplica& replica, const SupervisedReplica::End& end) {
  write_launch_file();
  hangs_->forget(replica.number());
  server_->on_exit({replica.number(), static_cast<int>(end.incarnation)});
  if (ended_at_s_ || server_->has_ended()) return;
  if (!has_begun_) first_failures_[replica.number()] = end;
  if (replica.is_in_vain()) unsaid_[replica.number()] = end.reason;
  leave_host(replica);
  replica.plan_restart(steady_now_s());
  if (!replica.is_given_up()) return;
  server_->on_given_up(replica.number());
  records_->event("replica_lost", replica.number(), JsonObject{}.add("reason", "given_up"));
  unsaid_.erase(replica.number());
  const bool are_all = std::all_of(replicas_.begin(), replicas_.end(),
                                   [](const SupervisedReplica& other) { return other.is_given_up(); });
  if (are_all)
    throw Error(Scope::job,
                "all replicas have failed too often without completing a step; the last one: " + end.reason);
  rank_.console().warn(format("replica %d is given up: %s", replica.number(), end.reason.c_str()));
}

void Supervisor::place(SupervisedReplica& replica) {
  replica.move_to(hosts_.hosts_of(replica.number()));
  server_->on_zone(replica.number(), hosts_.zone_of(replica.number()));
}

// A host that ends replicas again and again is worse than any other.
void Supervisor::leave_host(SupervisedReplica& replica) {
  if (hosts_.is_empty()) return;
  const auto out = hosts_.on_death(replica.number(), lost_hosts_[replica.number()], steady_now_s());
  place(replica);
  if (!out) return;
  records_->host_event("host_out", out->host, JsonObject{}.add("failures", out->failures));
  rank_.console().warn(
      format("host %s is set aside, where replicas died %d times in an hour: replica %d starts on %s",
             out->host.c_str(), out->failures, replica.number(), replica.hosts().front().c_str()));
}

// What is wrong with the deck, the data or the machine is so for all of them.
void Supervisor::check_first_starts() {
  if (has_begun_ || first_failures_.size() < replicas_.size()) return;
  const SupervisedReplica::End& first = first_failures_.begin()->second;
  const bool are_alike =
      std::all_of(first_failures_.begin(), first_failures_.end(), [&](const auto& failure) {
        const auto& outcome = failure.second.outcome;
        return outcome.has_value() == first.outcome.has_value() &&
               (!outcome || outcome->reason == first.outcome->reason);
      });
  if (are_alike)
    throw Error(Scope::job, first.outcome ? first.reason : "no replica could be started: " + first.reason);
  first_failures_.clear();
}

bool Supervisor::has_all_ended() const {
  return ended_at_s_ && std::none_of(replicas_.begin(), replicas_.end(),
                                     [](const SupervisedReplica& replica) { return replica.is_running(); });
}

void Supervisor::clean_up() {
  std::error_code ignored;
  for (SupervisedReplica& replica : replicas_) {
    replica.kill();
    for (int i = 0; i < 200 && replica.is_running() && !replica.poll_end(); ++i) usleep(10000);
    if (!replica.is_running()) replica.remove_scratch();
    fs::remove(replica.directory() / "join", ignored);
  }
  checkpoints_->forget_all();
}

}  // namespace tenax::app
