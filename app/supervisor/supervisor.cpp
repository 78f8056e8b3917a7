#include "app/supervisor/supervisor.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "app/effective_text.hpp"
#include "app/launch/left_checkpoint.hpp"
#include "app/launch/unrecorded_steps.hpp"
#include "app/supervisor/supervisor_parts.hpp"
#include "app/units.hpp"
#include "io/checksum.hpp"
#include "io/json.hpp"
#include "io/run/ledger.hpp"
#include "io/run/run_series.hpp"
#include "io/run/seized_run.hpp"
#include "resilience/checkpoint/checkpoint_directory.hpp"
#include "resilience/effective_time/recorded_time.hpp"

namespace tenax::app {

namespace fs = std::filesystem;
using io::JsonObject;
using kernels::Error;
using kernels::Scope;
using kernels::steady_now_s;

namespace {

std::string random_id() {
  std::array<std::byte, 8> bytes;
  comm::fill_randomly(bytes);
  return io::checksum_text(std::bit_cast<std::uint64_t>(bytes));
}

std::vector<resilience::ReplicaId> members_of(const resilience::EpochRecord* epoch) {
  std::vector<resilience::ReplicaId> members;
  if (!epoch) return members;
  for (const auto& member : epoch->members) members.push_back(member.id);
  return members;
}

}  // namespace

Supervisor::Supervisor(RunRank& rank, const Build& build, RunStanding* standing, double started_s)
    : rank_(rank), build_(build), store_(standing), started_s_(started_s) {
  const io::Deck& deck = rank.deck();
  if (store_.takes_over()) io::seize_run(deck.run.output_dir, deck.checkpoint.dir);
  earlier_.emplace(deck, store_.takes_over());
  state_.reset(takes_over() ? new RunState(RunState::of_successor(rank)) : new RunState(rank));
}

Supervisor::~Supervisor() {
  server_.reset();
  if (!has_run() || is_deposed()) return;
  if (replicas_) {
    replicas_->end();
    remove_join_files(rank_.deck().run.output_dir);
  }
  checkpoints_->leave();
}

void Supervisor::start() {
  check_charge();
  if (takes_over())
    take_over();
  else
    begin_run();
  server_->on_all_told();
  records_->launch(static_cast<std::int64_t>(earlier_->living().size()));
  has_run_ = true;
  if (store_.has_waited()) records_->event("standby", {}, JsonObject{}.add("took_over", store_.takes_over()));
  replicas_->start(steady_now_s());
}

// To look at the checkpoint may have taken long. One that has taken the run over meanwhile has taken the locks.
void Supervisor::check_charge() {
  store_.check_in_charge();
  if (store_.has_rivals() && !state_->lock()->in_place())
    throw Error(Scope::job, "another supervisor has taken this run over while this one began: the locks in " +
                                rank_.deck().run.output_dir + " are no longer its own");
}

void Supervisor::begin_run() {
  const io::Deck& deck = rank_.deck();
  state_->check_disk();
  state_->warn_of_changes();
  warns_of_files_ = true;
  state_->open_directory();
  earlier_->remove_scratch();
  if (deck.checkpoint.interval >= 0) resilience::prepare_checkpoint_directory(deck.checkpoint.dir);
  open_records(state_->steps(), resilience::EffectiveTime(effective_options(deck, started_unix_s_)));
  EarlierRecords earlier(deck, store_);
  earlier.add_what_was_left(replica_directories(deck.run.output_dir));
  records_->go_back(earlier.recorded_steps_before(state_->steps()));
  earlier.add_unrecorded(*records_, state_->steps());  // first: what the ledger has, the metrics have then
  earlier.leave_short_ledger(state_->steps(), rank_.console());
  records_->begin_after(state_->steps());
  create_service({.run_id = random_id(),
                  .secret = comm::JobSecret::draw().text(),
                  .deck = fs::path(deck.run.output_dir) / "deck.toml",
                  .build = build_.text(),
                  .resume = deck.run.resume},
                 io::to_toml(deck), earlier.stored());
  replicas_->ignore_earlier();
}

// Of a run whose last supervisor was killed, with its account of time.
void Supervisor::continue_records(const EarlierRecords& earlier) {
  const io::Deck& deck = rank_.deck();
  const auto options = effective_options(deck, started_unix_s_);
  const auto recorded = resilience::read_recorded_time(deck.run.output_dir, options);
  open_records(earlier.recorded_steps(), recorded ? recorded->account : resilience::EffectiveTime(options));
  if (const auto* epoch = earlier.last_epoch()) records_->remember(*epoch);
  earlier.add_unrecorded(*records_, deck.run.train_steps);
}

void Supervisor::complete_records() {
  check_charge();
  const fs::path run = rank_.deck().run.output_dir;
  remove_join_files(run);
  earlier_->remove_scratch();
  const auto last = io::last_event(run);
  if (!fs::exists(io::ledger_of_run(run)) || (last && last->reason == "completed")) return;
  EarlierRecords earlier(rank_.deck(), store_);
  earlier.add_what_was_left(replica_directories(run));
  continue_records(earlier);
  records_->complete();
}

void Supervisor::take_over() {
  const fs::path run = rank_.deck().run.output_dir;
  JoinFile join = earlier_->join(build_);
  if (join.resume == "never") join.resume = "auto";
  EarlierRecords earlier(rank_.deck(), store_);
  earlier.add_what_was_left(ended_replica_directories(run));
  continue_records(earlier);
  if (const auto gone = untold_void(run, earlier.stored()))
    records_->hand_in(resilience::ServiceEvent{resilience::StepsVoided{gone->void_from}});
  const std::string deck = EarlierRun::deck_text(join);
  create_service(std::move(join), deck, earlier.stored());
  for (const LaunchFile::Replica& known : earlier_->living()) replicas_->adopt(known);
  replicas_->continue_from(store_.published());
  if (!store_.has_rivals()) replicas_->await(members_of(earlier.last_epoch()), steady_now_s());
  const auto count = static_cast<int>(earlier_->living().size());
  rank_.console().say(format("took over %d living replica%s", count, count == 1 ? "" : "s"));
}

void Supervisor::open_records(std::int64_t steps_done, resilience::EffectiveTime time) {
  records_ = std::make_unique<SupervisorRecords>(rank_.deck(), rank_.console(), steps_done, std::move(time));
  checkpoints_.emplace(rank_.deck(), *records_, rank_.console());
  has_run_ = !takes_over();
}

// `deck`: resolved, as the replicas read it.
void Supervisor::create_service(JoinFile join, const std::string& deck,
                                const std::vector<resilience::Record>& stored) {
  HostPool hosts = host_pool(rank_.deck());
  auto replicas = supervised_replicas(rank_.deck(), join.run_id, hosts, stored);
  hangs_.emplace(hang_options(rank_.deck()));
  server_ = std::make_unique<resilience::MembershipServer>(
      service_options(rank_.deck(), build_, deck, hosts, comm::JobSecret::parse(join.secret)),
      store_.records(), stored,
      resilience::MembershipServer::Observer{
          .on_record = [this](const resilience::Record& record) { records_->hand_in(record); },
          .on_event = [this](const resilience::ServiceEvent& event) { records_->hand_in(event); }});
  join.service = server_->addresses();
  store_.set_service(join.service);
  auto spares = supervised_spares(rank_.deck(), join.run_id);
  replicas_.emplace(std::move(replicas), std::move(spares), std::move(hosts), std::move(join),
                    rank_.deck().run.output_dir,
                    RunReplicas::Listeners{*server_, *records_, *hangs_, rank_.console()});
}

Supervisor::Progress Supervisor::advance(const Requests& requests) {
  store_.check_in_charge();
  if (requests.end) throw Error(Scope::job, "ended at once, as asked");
  time_is_up_ = time_is_up_ || (!stops_ && time_is_up());
  if ((requests.stop || time_is_up_) && !std::exchange(stops_, true)) server_->wish_stop();
  take_news();
  store_.publish(replicas_->to_publish(), rank_.console());
  if (const auto failure = server_->failure()) failure->raise();
  store_.check_in_charge();
  replicas_->watch(steady_now_s(), !stops_);
  if (!stops_ && replicas_->has_adopted_in_vain()) return begin_anew();
  // The last checkpoint may take longer than any step.
  if (!server_->has_told_stop() && !server_->has_ended()) watch_for_hangs();
  if (records_->take_onset()) tell_stragglers();
  if (!replicas_->have_ended()) return Progress::goes_on;
  take_news();  // what came since
  check_end();
  return Progress::has_ended;
}

Supervisor::Progress Supervisor::begin_anew() {
  rank_.console().warn(
      "the replicas that were taken over have ended without a word: the run begins with what they have left");
  take_news();
  return Progress::begins_anew;
}

// Where an earlier supervisor has told the replicas to end, nobody has told this one of their last checkpoint.
void Supervisor::check_end() {
  const io::CheckpointSection& section = rank_.deck().checkpoint;
  place_left_checkpoint(rank_.deck());
  if (failure_) throw Error(Scope::job, *failure_);
  if (section.interval < 0 || rank_.deck().device.kind == io::DeviceKind::emulated) return;
  const auto saved = resilience::list_checkpoints(section.dir);
  const std::int64_t kept = std::max(state_->steps(), saved.empty() ? 0 : saved.back().step);
  if (steps_done() > kept)
    throw Error(Scope::job, format("all replicas ended before the last checkpoint was written: of %lld steps "
                                   "the newest one has %lld",
                                   static_cast<long long>(steps_done()), static_cast<long long>(kept)));
}

bool Supervisor::time_is_up() const {
  const double limit_s = rank_.deck().run.max_minutes * 60;
  return limit_s > 0 && steady_now_s() - started_s_ >= limit_s;
}

io::JsonObject Supervisor::end() {
  server_.reset();
  try {
    records_->write();      // steps that were committed since the last look
  } catch (const Error&) {  // whatever ends the run says more
  }
  return records_->end(io::unix_time_s());
}

std::string Supervisor::end_reason() const {
  if (steps_done() >= rank_.deck().run.train_steps) return "completed";
  return time_is_up_ ? "time_limit" : "signal";
}

void Supervisor::take_news() {
  for (const SupervisorRecords::News& news : records_->write())
    std::visit([&](const auto& kind) { take(kind); }, news);
  if (const auto complaint = records_->divergence()) throw Error(Scope::job, *complaint);
  for (const resilience::ReplicaJoined& joined : records_->take_joins())
    server_->on_join_recorded(joined.id, joined.joined.epoch);
}

void Supervisor::take(const resilience::Record& record) {
  if (const auto* commit = std::get_if<resilience::CommitRecord>(&record)) {
    replicas_->on_commit(*commit);
    hangs_->on_commit(commit->parts, steady_now_s());
    check_records();
  }
  if (!std::holds_alternative<resilience::EpochRecord>(record)) return;
  hangs_->pause(steady_now_s());
  replicas_->on_epoch();
}

void Supervisor::take(const resilience::ServiceEvent& event) {
  if (const auto* validated = std::get_if<resilience::StepValidated>(&event))
    server_->on_validation_recorded(validated->validated.done);
  if (const auto* observed = std::get_if<resilience::ReplicaObserved>(&event))
    server_->on_observation_recorded(observed->id, observed->observed.number);
  if (const auto* joined = std::get_if<resilience::ReplicaJoined>(&event))
    records_->join(*joined, replicas_->age_s(joined->id.replica));
  if (const auto* corrupt = std::get_if<resilience::StateCorrupt>(&event)) {
    checkpoints_->take(*corrupt);
    if (corrupt->distrusts_checkpoints) server_->on_checkpoints_settled();
    replicas_->on_corrupt(*corrupt);
    records_->corrupt(*corrupt, corrupt_place(*corrupt, StatePlaces(rank_.deck())),
                      [this](int replica, int rank) { return replicas_->host_of(replica, rank); });
  }
  if (const auto* seen = std::get_if<resilience::SpareSeen>(&event)) replicas_->on_spare_seen(*seen);
  if (const auto* seen = std::get_if<resilience::ReplicaSeen>(&event)) take(*seen);
  if (const auto* few = std::get_if<resilience::TooFewLeft>(&event)) take(*few);
  if (const auto* saved = std::get_if<resilience::CheckpointSaved>(&event)) checkpoints_->take(*saved);
  if (const auto* voided = std::get_if<resilience::StepsVoided>(&event)) checkpoints_->take(*voided);
  if (const auto* lost = std::get_if<resilience::ReplicaLost>(&event)) {
    replicas_->on_lost(*lost, steady_now_s());
    checkpoints_->take(*lost);
    hangs_->pause(steady_now_s());
  }
}

// All that are not refused have the same files.
void Supervisor::take(const resilience::ReplicaSeen& seen) {
  replicas_->on_seen(seen);
  if (std::exchange(warns_of_files_, false)) state_->warn_of_files(seen.data);
}

// Where they alone were removed or moved.
bool Supervisor::restores_records() {
  const fs::path run = rank_.deck().run.output_dir;
  std::error_code none;
  const bool has_directory = state_->lock() && state_->lock()->is_run_in_place() &&
                             fs::exists(io::ledger_of_run(run), none) && fs::exists(run / "deck.toml", none);
  if (!has_directory) return false;
  try {
    records_->restore();
  } catch (const Error& error) {
    rank_.console().warn(error.what());
    return false;
  }
  rank_.console().warn("metrics.jsonl or events.jsonl of " + run.string() +
                       " was removed or moved: it is made again, with all that it had");
  return true;
}

// What is gone with a run directory, also of the replicas, cannot be made again: the run ends in order, with its
// last checkpoint.
void Supervisor::check_records() {
  if (stops_ || records_->are_in_place()) return;
  store_.check_in_charge();  // one that has taken the run over may have replaced them
  if (restores_records()) return;
  const io::Deck& deck = rank_.deck();
  failure_ =
      "something of " + deck.run.output_dir +
      " was removed or moved, but this run writes there: it ends; the same command goes on from the newest "
      "checkpoint in " +
      deck.checkpoint.dir;
  stops_ = true;
  server_->wish_stop();
}

// The service has wished the stop.
void Supervisor::take(const resilience::TooFewLeft& few) {
  std::string replicas;
  for (const int replica : few.given_up)
    replicas += (replicas.empty() ? "replica " : ", ") + std::to_string(replica);
  failure_ = format("%s of %lld given up: %d left, and replicas.min_replicas = %lld", replicas.c_str(),
                    static_cast<long long>(rank_.deck().parallel.replicas), few.left,
                    static_cast<long long>(rank_.deck().replicas.min_replicas));
  stops_ = true;
}

// The service loses it, and what is lost is killed and started again.
void Supervisor::watch_for_hangs() {
  const auto hang = hangs_->look(steady_now_s());
  if (!hang) return;
  records_->hang(hang->replica, hang->dump, hang->blame);
  server_->on_hang(replicas_->id(hang->replica), hang->rank);
}

// Why they are slow is found elsewhere.
void Supervisor::tell_stragglers() {
  constexpr int kSteps = 3;
  const auto slow = resilience::slow_ranks(hangs_->times(kSteps));
  if (!slow.empty()) records_->stragglers(slow);
}

}  // namespace tenax::app
