#include "tests/resilience/membership/membership_world.hpp"

#include <algorithm>
#include <set>

#include "kernels/error.hpp"
#include "resilience/membership/message_text.hpp"
#include "tests/resilience/membership/ledger_replay.hpp"
#include "tests/resilience/membership/state_hash.hpp"

namespace tenax::resilience {
namespace {

using Kind = WorldAction::Kind;
using Action = MemberPlan::Action;

/// Where a world that goes on by itself prefers what comes first.
constexpr Kind kFairOrder[] = {Kind::to_service, Kind::to_member, Kind::exit,  Kind::connect,
                               Kind::fetch,      Kind::begin,     Kind::enter, Kind::abort,
                               Kind::complete,   Kind::restore,   Kind::save,  Kind::restart_service,
                               Kind::restart,    Kind::tick};

}  // namespace

std::string to_string(WorldAction action) {
  constexpr const char* kNames[] = {"to_service",
                                    "to_member",
                                    "connect",
                                    "begin",
                                    "enter",
                                    "fetch",
                                    "complete",
                                    "abort",
                                    "restore",
                                    "save",
                                    "save_between",
                                    "exit",
                                    "restart_service",
                                    "restart",
                                    "tick",
                                    "wake",
                                    "crash",
                                    "stop",
                                    "cut",
                                    "silence",
                                    "fail_exchange",
                                    "crash_service",
                                    "crash_service_host",
                                    "wish_stop",
                                    "wish_leave",
                                    "give_up"};
  return std::string(" ") + kNames[static_cast<int>(action.kind)] + " " + std::to_string(action.process);
}

MembershipWorld::MembershipWorld(Options options) : options_(options) {
  service_.emplace(service_options(), records_, now_);
  for (int replica = 0; replica < options_.replicas; ++replica) add_process({replica, 1});
}

MembershipOptions MembershipWorld::service_options() const {
  MembershipOptions options;
  options.replicas = options_.replicas;
  options.min_replicas = options_.min_replicas;
  options.samples = member_options({}).samples;
  options.train_steps = options_.train_steps;
  options.recovery_s = 1;
  return options;
}

MembershipMember::Options MembershipWorld::member_options(ReplicaId id) const {
  MembershipMember::Options options;
  options.id = id;
  options.samples = {
      .batch = options_.batch, .global_batch = 2 * options_.replicas, .replicas = options_.replicas};
  options.train_steps = options_.train_steps;
  return options;
}

void MembershipWorld::add_process(ReplicaId id) {
  processes_.push_back({.id = id, .member = MembershipMember(member_options(id))});
}

bool MembershipWorld::is_newest(const Process& process) const {
  return std::none_of(processes_.begin(), processes_.end(), [&](const Process& other) {
    return other.id.replica == process.id.replica && other.id.incarnation > process.id.incarnation;
  });
}

bool MembershipWorld::has_exited() const {
  return std::any_of(processes_.begin(), processes_.end(),
                     [](const Process& it) { return it.life == Life::exited; });
}

bool MembershipWorld::is_over() const {
  return has_exited() && std::none_of(processes_.begin(), processes_.end(),
                                      [](const Process& it) { return it.life == Life::running; });
}

// The supervisor starts a replica again whose processes have ended, or which stand still and are not in the run.
bool MembershipWorld::can_restart(const Process& process) const {
  if (!service_ || has_exited() || !is_newest(process) || given_up_.contains(process.id.replica))
    return false;
  const MembershipState& state = service_->state();
  const bool is_out = !state.seats().of(process.id) && (process.is_lost || !state.is_member(process.id));
  return process.life == Life::dead ||
         (process.life == Life::stopped && is_out && process.to_service.empty());
}

const MembershipWorld::Process* MembershipWorld::source_for(const Process& process) const {
  for (const Process& other : processes_) {
    const auto& epoch = other.member.epoch();
    if (other.life == Life::running && epoch && epoch->number == process.epoch &&
        other.member.progress().done() == process.step)
      return &other;
  }
  return nullptr;
}

const MembershipWorld::Exchange* MembershipWorld::exchange_of(const Process& process) const {
  const auto found = exchanges_.find({process.epoch, process.step});
  return found == exchanges_.end() ? nullptr : &found->second;
}

// All have brought what they have. Whether a replica gets it all before another dies is a matter of luck.
bool MembershipWorld::can_complete(const Process& process) const {
  const Exchange* exchange = exchange_of(process);
  const auto& members = process.member.epoch()->members;
  return process.member.epoch()->number == process.epoch && exchange &&
         std::all_of(members.begin(), members.end(),
                     [&](const EpochMember& member) { return exchange->contains(member.id.replica); });
}

bool MembershipWorld::can_save_between(const Process& process) const {
  const MemberProgress& progress = process.member.progress();
  return options_.saves_between && process.place == Place::free && progress.is_whole() &&
         !process.saved.contains(progress.done()) && process.member.epoch()->writer == process.id.replica &&
         process.member.plan().action == Action::train;
}

bool MembershipWorld::can_be_given_up(const Process& process) const {
  return options_.leaves && process.life == Life::dead && is_newest(process) &&
         !given_up_.contains(process.id.replica) &&
         options_.replicas - static_cast<int>(given_up_.size()) > options_.min_replicas;
}

bool MembershipWorld::peers_live(const Process& process) const {
  const auto& members = process.member.epoch()->members;
  return std::all_of(members.begin(), members.end(), [&](const EpochMember& member) {
    return std::any_of(processes_.begin(), processes_.end(), [&](const Process& other) {
      return other.id == member.id && other.life == Life::running;
    });
  });
}

std::vector<Kind> MembershipWorld::actions_of(const Process& it) const {
  std::vector<Kind> found;
  const auto add = [&](bool can, Kind kind) {
    if (can) found.push_back(kind);
  };
  add(service_ && (!it.to_service.empty() || it.closed_to_service), Kind::to_service);
  add(it.life == Life::stopped, Kind::wake);
  add(can_restart(it), Kind::restart);
  if (it.life != Life::running) return found;
  const MemberPlan plan = it.member.plan();
  const bool is_behind = it.place != Place::free && !it.member.progress().is_whole();
  const bool is_frozen = it.member.frozen_epoch() >= it.epoch;
  add(!it.to_member.empty() || it.closed_to_member, Kind::to_member);
  add(service_ && plan.action != Action::exit && it.link == 0 && it.to_service.empty() &&
          !it.closed_to_service,
      Kind::connect);
  add(plan.action == Action::exit, Kind::exit);
  add(it.place == Place::free && plan.action == Action::train, Kind::begin);
  add(it.place == Place::free && plan.action == Action::restore, Kind::restore);
  add(it.place == Place::free && plan.action == Action::save, Kind::save);
  add(can_save_between(it), Kind::save_between);
  add(it.place == Place::passes, Kind::enter);
  add(is_behind && !is_frozen && source_for(it), Kind::fetch);
  add(it.place == Place::exchange && is_frozen, Kind::abort);
  add(it.place == Place::exchange && can_complete(it), Kind::complete);
  return found;
}

bool MembershipWorld::hears_at_once(const Process& it) const {
  if (it.to_member.empty()) return false;
  const ServiceMessage& message = it.to_member.front();
  return std::holds_alternative<CommitAck>(message) || std::holds_alternative<Restore>(message) ||
         std::holds_alternative<Ended>(message);
}

/// A commit that another replica's was before.
bool MembershipWorld::is_heard_at_once(const Process& it) const {
  const auto* commit = it.to_service.empty() ? nullptr : std::get_if<Commit>(&it.to_service.front());
  return commit && commit->record.step < service_->state().steps().done();
}

// What has no effect on others yet, and can wait for nothing else, happens at once: all orders of it with other actions
// come to the same.
std::optional<WorldAction> MembershipWorld::at_once() const {
  if (options_.all_orders) return {};
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    const Process& it = processes_[i];
    if (service_ && is_heard_at_once(it)) return WorldAction{Kind::to_service, i};
    if (it.life == Life::running && hears_at_once(it)) return WorldAction{Kind::to_member, i};
    for (const Kind kind : actions_of(it))
      if (kind == Kind::exit || kind == Kind::connect || kind == Kind::restart || kind == Kind::restore ||
          kind == Kind::save)
        return WorldAction{kind, i};
  }
  return {};
}

std::vector<WorldAction> MembershipWorld::actions() const {
  if (const auto only = at_once()) return {*only};
  std::vector<WorldAction> found;
  for (std::size_t i = 0; i < processes_.size(); ++i)
    for (const Kind kind : actions_of(processes_[i])) found.push_back({kind, i});
  if (!service_) found.push_back({Kind::restart_service});
  const bool is_quiet =
      std::none_of(found.begin(), found.end(), [&](WorldAction it) { return is_certain(it); });
  if (is_quiet && service_ && !is_over()) found.push_back({Kind::tick});
  return found;
}

/// Whether it happens without fail, and before any deadline passes.
bool MembershipWorld::is_certain(WorldAction action) const {
  if (action.kind == Kind::complete) return peers_live(processes_[action.process]);
  return action.kind != Kind::wake && action.kind != Kind::restart && action.kind != Kind::save_between;
}

std::vector<WorldAction> MembershipWorld::faults() const {
  std::vector<WorldAction> found;
  if (at_once()) return found;
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    const Process& it = processes_[i];
    const bool is_linked = it.link != 0 && !it.closed_to_member && !it.closed_to_service;
    if (it.life == Life::running || it.life == Life::stopped) found.push_back({Kind::crash, i});
    if (service_ && can_be_given_up(it)) found.push_back({Kind::give_up, i});
    if (it.life != Life::running) continue;
    found.push_back({Kind::stop, i});
    if (options_.leaves && !it.wishes_leave) found.push_back({Kind::wish_leave, i});
    if (service_ && is_linked) found.push_back({Kind::cut, i});
    if (service_ && is_linked) found.push_back({Kind::silence, i});
    if (it.place == Place::exchange && it.member.frozen_epoch() < it.epoch)
      found.push_back({Kind::fail_exchange, i});
  }
  if (!service_) return found;
  found.push_back({Kind::crash_service});
  found.push_back({Kind::crash_service_host});
  if (!stop_wished_) found.push_back({Kind::wish_stop});
  return found;
}

// In the worst case nothing comes any more from a peer that has gone.
std::optional<WorldAction> MembershipWorld::next() const {
  const std::vector<WorldAction> all = actions();
  for (const Kind kind : kFairOrder)
    for (const WorldAction& action : all)
      if (action.kind == kind && (is_certain(action) || kind == Kind::restart)) return action;
  return {};
}

void MembershipWorld::apply(WorldAction action) {
  try {
    happen(action);
  } catch (const kernels::Error& error) {
    check(false, error.what());
  }
}

void MembershipWorld::happen(WorldAction action) {
  switch (action.kind) {
    case Kind::crash_service:
      return crash_service(false);
    case Kind::crash_service_host:
      return crash_service(true);
    case Kind::restart_service:
      return restart_service();
    case Kind::tick:
      return tick(nullptr);
    case Kind::wish_stop:
      stop_wished_ = true;
      service_->on_stop_wish(now_);
      return drain_service();
    case Kind::give_up:
      given_up_.insert(processes_[action.process].id.replica);
      service_->on_given_up(processes_[action.process].id.replica, now_);
      return drain_service();
    case Kind::silence:
      return tick(&processes_[action.process]);
    case Kind::restart: {
      const ReplicaId id = processes_[action.process].id;
      return add_process({id.replica, id.incarnation + 1});
    }
    default:
      act(action.kind, processes_[action.process]);
  }
  flush(processes_[action.process]);
  std::erase_if(exchanges_, [&](const auto& exchange) {
    return std::none_of(processes_.begin(), processes_.end(), [&](const Process& it) {
      return it.life != Life::dead && it.place != Place::free &&
             exchange.first == std::pair{it.epoch, it.step};
    });
  });
}

void MembershipWorld::act(Kind kind, Process& it) {
  switch (kind) {
    case Kind::to_service:
      return deliver_to_service(it);
    case Kind::to_member:
      return deliver_to_member(it);
    case Kind::connect:
      return connect(it);
    case Kind::begin:
      return begin(it);
    case Kind::enter:
      return enter(it);
    case Kind::fetch:
      it.state = source_for(it)->state;
      return it.member.on_fetched(it.step);
    case Kind::complete:
      return complete(it);
    case Kind::abort:
      return fail(it, -1);
    case Kind::restore:
      it.done_seen = -1;
      it.state = checkpoints_.back().state;
      return it.member.on_restored(checkpoints_.back().done, checkpoints_.back().next_sample);
    case Kind::save:
      return save(it, it.member.plan().step);
    case Kind::save_between:
      return save(it, it.member.progress().done());
    case Kind::wish_leave:
      it.wishes_leave = true;
      return it.member.ask_leave();
    case Kind::exit:
      end(it, it.member.plan().status == 0 ? Life::exited : Life::dead);
      if (!service_ || it.life == Life::dead) return;
      service_->on_run_ended();
      return drain_service();
    case Kind::wake:
      it.life = Life::running;
      return;
    case Kind::crash:
      return end(it, Life::dead);
    case Kind::stop:
      it.life = Life::stopped;
      return;
    case Kind::cut:
      it.closed_to_service = it.closed_to_member = true;
      return;
    case Kind::fail_exchange:
      return fail(it, it.id.replica == 0 ? -1 : it.id.replica - 1);
    default:
      check(false, "the world does not know an action");
  }
}

void MembershipWorld::deliver_to_service(Process& it) {
  if (it.to_service.empty()) {
    it.closed_to_service = false;
    service_->on_closed(it.link_at_service, now_);
  } else {
    const MemberMessage message = std::move(it.to_service.front());
    it.to_service.pop_front();
    service_->on_message(it.link_at_service,
                         options_.through_text ? parse_member_message(to_text(message)) : message, now_);
  }
  drain_service();
}

void MembershipWorld::deliver_to_member(Process& it) {
  if (it.to_member.empty()) {
    it.closed_to_member = false;
    it.link = 0;
    return it.member.on_disconnected();
  }
  const ServiceMessage message = std::move(it.to_member.front());
  it.to_member.pop_front();
  it.member.on_message(options_.through_text ? parse_service_message(to_text(message)) : message, now_);
}

void MembershipWorld::connect(Process& it) {
  const auto place = static_cast<PeerId>(&it - processes_.data());
  it.link = it.link_at_service = 100 * (it.link_at_service / 100 + 1) + place;
  it.member.on_connected(now_);
}

void MembershipWorld::begin(Process& it) {
  const MemberPlan plan = it.member.plan();
  it.member.begin_step();
  it.place = Place::passes;
  it.epoch = plan.epoch;
  it.step = plan.step;
  it.parts = plan.parts;
}

void MembershipWorld::enter(Process& it) {
  it.place = it.member.begin_vote() ? Place::exchange : Place::free;
  if (it.place == Place::free) return;
  Exchange& exchange = exchanges_[{it.epoch, it.step}];
  exchange[it.id.replica] = {it.member.progress().is_whole(), it.state, it.parts};
  for (const auto& [replica, entry] : exchange) {
    check(entry.parts == it.parts, "two replicas share a step differently");
    const Entry& mine = exchange[it.id.replica];
    check(!entry.is_whole || !mine.is_whole || entry.state == mine.state,
          "two replicas contribute to different states");
    const bool has_part =
        std::any_of(it.parts.begin(), it.parts.end(),
                    [&, replica = replica](const Part& part) { return part.replica == replica; });
    check(entry.is_whole || !has_part, "a replica without the state has samples");
  }
}

void MembershipWorld::complete(Process& it) {
  StepOutcome outcome{.has_all_sums = true};
  const Exchange& exchange = *exchange_of(it);
  for (const EpochMember& member : it.member.epoch()->members) {
    const Entry& entry = exchange.at(member.id.replica);
    outcome.whole.push_back(entry.is_whole);
    if (entry.is_whole) outcome.squares = result_of_step(entry.state, it.parts);
  }
  it.place = Place::free;
  if (it.member.on_vote(outcome)) it.state = result_of_step(it.state, it.parts);
}

void MembershipWorld::fail(Process& it, int suspect) {
  it.place = Place::free;
  it.member.on_vote({.suspect = suspect});
}

void MembershipWorld::save(Process& it, std::int64_t done) {
  check(it.member.progress().done() == done, "a replica saves a state it does not hold");
  it.saved[done] = {done, it.member.progress().first_sample(), it.state};
  it.member.on_saved({.done = done});
}

void MembershipWorld::end(Process& it, Life life) {
  it.life = life;
  it.place = Place::free;
  if (it.link != 0 && !it.closed_to_member) it.closed_to_service = true;
  it.to_member.clear();
  it.closed_to_member = false;
  it.link = 0;
}

// With its host go what was not synced, and the messages under way.
void MembershipWorld::crash_service(bool with_host) {
  service_.reset();
  if (with_host) records_.resize(durable_);
  for (Process& it : processes_) {
    it.to_service.clear();
    it.closed_to_service = false;
    if (with_host) it.to_member.clear();
    if (it.link != 0) it.closed_to_member = true;
  }
}

void MembershipWorld::restart_service() {
  durable_ = records_.size();
  service_.emplace(service_options(), records_, now_);
  service_->on_synced();
  if (has_exited()) service_->on_run_ended();
  for (const Process& it : processes_)
    if (it.life == Life::dead || it.life == Life::exited) service_->on_exit(it.id, now_);
  for (const int replica : given_up_) service_->on_given_up(replica, now_);
  drain_service();
}

// Time enough for every deadline. All that live and have a link are heard of, but `silent`.
void MembershipWorld::tick(const Process* silent) {
  for (int i = 0; i < 4; ++i) {
    now_ += 0.4;
    for (const Process& it : processes_)
      if (&it != silent && it.life == Life::running && it.link != 0 && !it.closed_to_service &&
          !it.closed_to_member)
        service_->on_message(it.link, Report{.change = -1}, now_);
    service_->on_time(now_);
    drain_service();
  }
  durable_ = records_.size();
  service_->on_synced();
  drain_service();
}

void MembershipWorld::flush(Process& it) {
  for (MemberMessage& message : it.member.take_messages())
    if (it.link != 0 && !it.closed_to_member && !it.closed_to_service)
      it.to_service.push_back(std::move(message));
  const std::int64_t done = it.member.progress().done();
  check(done < 0 || done >= it.done_seen, "a replica went back");
  it.done_seen = done;
}

void MembershipWorld::drain_service() {
  for (bool synced = true; synced;) {
    ServiceOutput output = service_->take();
    records_.insert(records_.end(), output.records.begin(), output.records.end());
    for (const auto& [peers, message] : output.messages)
      for (Process& it : processes_)
        if (std::count(peers.begin(), peers.end(), it.link) > 0 && !it.closed_to_member)
          it.to_member.push_back(message);
    for (const PeerId peer : output.closed)
      for (Process& it : processes_) {
        if (it.link_at_service != peer) continue;
        it.to_service.clear();
        it.closed_to_service = false;
        if (it.link == peer) it.closed_to_member = true;
      }
    for (const ServiceEvent& event : output.events) handle(event);
    synced = output.sync;
    if (!synced) break;
    durable_ = records_.size();
    service_->on_synced();
  }
}

void MembershipWorld::handle(const ServiceEvent& event) {
  if (const auto* lost = std::get_if<ReplicaLost>(&event)) {
    check(lost->reason != LossReason::diverged, "a sound replica is taken for one that diverged");
    for (Process& it : processes_) it.is_lost |= it.id == lost->id;
  }
  if (const auto* gone = std::get_if<StepsVoided>(&event))
    std::erase_if(checkpoints_, [&](const Checkpoint& it) { return it.done > gone->void_from; });
  if (const auto* saved = std::get_if<CheckpointSaved>(&event))
    for (const Process& it : processes_) {
      if (it.id != saved->writer) continue;
      const std::int64_t done = saved->saved.done;
      check(it.saved.contains(done), "a checkpoint is not what was said");
      std::erase_if(checkpoints_, [&](const Checkpoint& old) { return old.done >= done; });
      checkpoints_.push_back(it.saved.at(done));
    }
}

std::string MembershipWorld::violation() const {
  if (!violation_.empty()) return violation_;
  const LedgerReplay replay(records_);
  if (!replay.contradiction().empty()) return replay.contradiction();
  std::map<std::int64_t, std::uint64_t> states;
  for (std::int64_t done = 0; done <= replay.done(); ++done) states[done] = replay.state_after(done);
  for (const Checkpoint& it : checkpoints_)
    if (states.emplace(it.done, it.state).first->second != it.state) return "a checkpoint is not of the run";
  for (const Process& it : processes_) {
    const std::int64_t done = it.member.progress().done();
    const auto& epoch = it.member.epoch();
    const bool counts = (it.life == Life::running || it.life == Life::stopped) && !it.is_lost;
    if (!counts || done < 0 || !epoch || epoch->number != replay.epoch().epoch) continue;
    if (states.emplace(done, it.state).first->second != it.state) return "there are two results of a step";
  }
  if (!is_over()) return {};
  const Checkpoint& last = checkpoints_.back();
  if (last.done > replay.done() || last.state != replay.state_after(last.done))
    return "the last checkpoint is not of the run";
  if (!stop_wished_ && (replay.done() != options_.train_steps || last.done != replay.done()))
    return "the run ended early";
  return {};
}

std::uint64_t MembershipWorld::hash() const {
  StateHash hash;
  hash(service_, processes_, records_, durable_, exchanges_, checkpoints_, stop_wished_, given_up_);
  return hash.value();
}

void MembershipWorld::check(bool holds, const std::string& what) {
  if (!holds && violation_.empty()) violation_ = what;
}

}  // namespace tenax::resilience
