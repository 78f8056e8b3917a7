#include "tests/resilience/membership/membership_world.hpp"

#include <algorithm>

#include "kernels/error.hpp"
#include "resilience/membership/message_text.hpp"
#include "tests/resilience/membership/ledger_replay.hpp"
#include "tests/resilience/membership/state_hash.hpp"

namespace tenax::resilience {

MembershipWorld::MembershipWorld(Options options) {
  state_.options = options;
  state_.service.emplace(service_options(), state_.records, state_.now);
  for (int replica = 0; replica < state_.options.replicas; ++replica) add_process({replica, 1});
}

MembershipOptions MembershipWorld::service_options() const {
  MembershipOptions options;
  options.replicas = state_.options.replicas;
  options.min_replicas = state_.options.min_replicas;
  options.samples = member_options({}).samples;
  options.train_steps = state_.options.train_steps;
  options.recovery_s = 1;
  return options;
}

MembershipMember::Options MembershipWorld::member_options(ReplicaId id) const {
  MembershipMember::Options options;
  options.id = id;
  options.samples = {.batch = state_.options.batch,
                     .global_batch = 2 * state_.options.replicas,
                     .replicas = state_.options.replicas};
  options.train_steps = state_.options.train_steps;
  return options;
}

void MembershipWorld::add_process(ReplicaId id) {
  state_.processes.push_back({.id = id, .member = MembershipMember(member_options(id))});
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
      state_.stop_wished = true;
      state_.service->on_stop_wish(state_.now);
      return drain_service();
    case Kind::give_up:
      state_.given_up.insert(state_.processes[action.process].id.replica);
      state_.service->on_given_up(state_.processes[action.process].id.replica, state_.now);
      return drain_service();
    case Kind::silence:
      return tick(&state_.processes[action.process]);
    case Kind::restart: {
      const ReplicaId id = state_.processes[action.process].id;
      return add_process({id.replica, id.incarnation + 1});
    }
    default:
      act(action.kind, state_.processes[action.process]);
  }
  flush(state_.processes[action.process]);
  std::erase_if(state_.exchanges, [&](const auto& exchange) {
    return std::none_of(state_.processes.begin(), state_.processes.end(), [&](const Process& it) {
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
      it.state = state_.source_for(it)->state;
      return it.member.on_fetched(it.step);
    case Kind::complete:
      return complete(it);
    case Kind::abort:
      return fail(it, -1);
    case Kind::restore:
      it.done_seen = -1;
      it.state = state_.checkpoints.back().state;
      return it.member.on_restored(state_.checkpoints.back().done, state_.checkpoints.back().next_sample);
    case Kind::save:
      return save(it, it.member.plan().step);
    case Kind::save_between:
      return save(it, it.member.progress().done());
    case Kind::wish_leave:
      it.wishes_leave = true;
      return it.member.ask_leave();
    case Kind::exit:
      end(it, it.member.plan().status == 0 ? Life::exited : Life::dead);
      if (!state_.service || it.life == Life::dead) return;
      state_.service->on_run_ended();
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
    state_.service->on_closed(it.link_at_service, state_.now);
  } else {
    const MemberMessage message = std::move(it.to_service.front());
    it.to_service.pop_front();
    state_.service->on_message(it.link_at_service,
                               state_.options.through_text ? parse_member_message(to_text(message)) : message,
                               state_.now);
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
  it.member.on_message(state_.options.through_text ? parse_service_message(to_text(message)) : message,
                       state_.now);
}

void MembershipWorld::connect(Process& it) {
  const auto place = static_cast<PeerId>(&it - state_.processes.data());
  it.link = it.link_at_service = 100 * (it.link_at_service / 100 + 1) + place;
  it.member.on_connected(state_.now);
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
  Exchange& exchange = state_.exchanges[{it.epoch, it.step}];
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
  const Exchange& exchange = *state_.exchange_of(it);
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
  state_.service.reset();
  if (with_host) state_.records.resize(state_.durable);
  for (Process& it : state_.processes) {
    it.to_service.clear();
    it.closed_to_service = false;
    if (with_host) it.to_member.clear();
    if (it.link != 0) it.closed_to_member = true;
  }
}

void MembershipWorld::restart_service() {
  state_.durable = state_.records.size();
  state_.service.emplace(service_options(), state_.records, state_.now);
  state_.service->on_all_told(state_.now);
  state_.service->on_synced();
  if (state_.has_exited()) state_.service->on_run_ended();
  for (const Process& it : state_.processes)
    if (it.life == Life::dead || it.life == Life::exited) state_.service->on_exit(it.id, state_.now);
  for (const int replica : state_.given_up) state_.service->on_given_up(replica, state_.now);
  drain_service();
}

// Time enough for every deadline. All that live and have a link are heard of, but `silent`.
void MembershipWorld::tick(const Process* silent) {
  for (int i = 0; i < 4; ++i) {
    state_.now += 0.4;
    for (const Process& it : state_.processes)
      if (&it != silent && it.life == Life::running && it.link != 0 && !it.closed_to_service &&
          !it.closed_to_member)
        state_.service->on_message(it.link, Report{.change = -1}, state_.now);
    state_.service->on_time(state_.now);
    drain_service();
  }
  state_.durable = state_.records.size();
  state_.service->on_synced();
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
    ServiceOutput output = state_.service->take();
    state_.records.insert(state_.records.end(), output.records.begin(), output.records.end());
    for (const auto& [peers, message] : output.messages)
      for (Process& it : state_.processes)
        if (std::count(peers.begin(), peers.end(), it.link) > 0 && !it.closed_to_member)
          it.to_member.push_back(message);
    for (const PeerId peer : output.closed)
      for (Process& it : state_.processes) {
        if (it.link_at_service != peer) continue;
        it.to_service.clear();
        it.closed_to_service = false;
        if (it.link == peer) it.closed_to_member = true;
      }
    for (const ServiceEvent& event : output.events) handle(event);
    synced = output.sync;
    if (!synced) break;
    state_.durable = state_.records.size();
    state_.service->on_synced();
  }
}

void MembershipWorld::handle(const ServiceEvent& event) {
  if (const auto* lost = std::get_if<ReplicaLost>(&event)) {
    check(lost->reason != LossReason::diverged && lost->reason != LossReason::corrupt,
          "a sound replica is taken for one that diverged");
    for (Process& it : state_.processes) it.is_lost |= it.id == lost->id;
  }
  if (const auto* gone = std::get_if<StepsVoided>(&event))
    std::erase_if(state_.checkpoints, [&](const Checkpoint& it) { return it.done > gone->void_from; });
  if (const auto* saved = std::get_if<CheckpointSaved>(&event))
    for (const Process& it : state_.processes) {
      if (it.id != saved->writer) continue;
      const std::int64_t done = saved->saved.done;
      check(it.saved.contains(done), "a checkpoint is not what was said");
      std::erase_if(state_.checkpoints, [&](const Checkpoint& old) { return old.done >= done; });
      state_.checkpoints.push_back(it.saved.at(done));
    }
}

std::string MembershipWorld::violation() const {
  return violation_.empty() ? state_.contradiction() : violation_;
}

std::uint64_t MembershipWorld::hash() const {
  StateHash hash;
  hash(state_);
  return hash.value();
}

void MembershipWorld::check(bool holds, const std::string& what) {
  if (!holds && violation_.empty()) violation_ = what;
}

}  // namespace tenax::resilience
