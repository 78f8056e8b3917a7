#include "app/simulation/simulated_members.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>

namespace tenax::app {

namespace {

std::vector<resilience::Part> own_parts(const SimulatedReplica& replica) {
  std::vector<resilience::Part> own;
  for (const resilience::Part& part : replica.step.parts)
    if (part.replica == replica.id.replica) own.push_back(part);
  return own;
}

}  // namespace

SimulatedMembers::SimulatedMembers(const SimulationOptions& options, SimulatedQueue& queue)
    : options_(options), queue_(queue), replicas_(static_cast<std::size_t>(options.replicas)) {
  for (int replica = 0; replica < options.replicas; ++replica) at(replica).id.replica = replica;
}

resilience::ReplicaId SimulatedMembers::start(int replica, double now_s) {
  const resilience::ReplicaId id{replica, at(replica).id.incarnation + 1};
  const std::int64_t passes = at(replica).passes;
  const double speed = at(replica).speed;
  at(replica) = {.id = id, .life = Life::running, .passes = passes + 1, .speed = speed};
  resilience::MembershipMember::Options member;
  member.id = id;
  member.samples = options_.samples;
  member.train_steps = std::numeric_limits<std::int64_t>::max();
  member.heartbeat_s = options_.costs.heartbeat_s;
  at(replica).member.emplace(std::move(member));
  at(replica).member->on_connected(now_s);
  collect(at(replica));
  return id;
}

void SimulatedMembers::fall_silent(int replica, double now_s) {
  at(replica).life = Life::silent;
  stop(at(replica));
  for (SimulatedReplica& other : replicas_)
    if (other.runs() && other.phase == Phase::passes) cut_passes(other, now_s);
}

void SimulatedMembers::end(int replica) {
  at(replica).life = Life::absent;
  stop(at(replica));
  at(replica).member.reset();
}

void SimulatedMembers::stop(SimulatedReplica& replica) {
  replica.phase = Phase::idle;
  ++replica.passes;
}

// Of steps that are played as one, the survivors end the one that they are in.
void SimulatedMembers::cut_passes(SimulatedReplica& replica, double now_s) {
  const double step_s = options_.costs.step_s / replica.speed;
  const double end_s = replica.begin_s + step_s * (std::floor((now_s - replica.begin_s) / step_s) + 1);
  if (options_.costs.steps_at_once == 1 || end_s >= replica.end_s) return;
  replica.left_s += replica.end_s - end_s;
  replica.end_s = end_s;
  ++replica.passes;
  plan(SimulatedEvent::passes_end, replica, end_s);
}

bool SimulatedMembers::has_silent() const {
  return std::any_of(replicas_.begin(), replicas_.end(),
                     [](const SimulatedReplica& it) { return it.life == Life::silent; });
}

void SimulatedMembers::beat() {
  for (const SimulatedReplica& it : replicas_)
    if (it.runs())
      outbox_.emplace_back(it.peer(options_.replicas),
                           resilience::Beat{it.step.epoch, it.step.step, resilience::StepPhase::passes});
}

void SimulatedMembers::happen(const TimedEvent<SimulatedEvent>& event) {
  SimulatedReplica& replica = at(event.subject);
  if (replica.passes != event.token || !replica.runs()) return;
  if (event.kind == SimulatedEvent::passes_end) return end_passes(replica, event.time_s);
  if (event.kind == SimulatedEvent::fetched) replica.member->on_fetched(replica.step.step);
  if (replica.phase == Phase::exchange) try_exchange(replica, event.time_s);
}

// Every wait of an exchange hears of a freeze.
void SimulatedMembers::on_message(resilience::PeerId peer, const resilience::ServiceMessage& message,
                                  double now_s) {
  SimulatedReplica& replica = at(static_cast<int>(peer % options_.replicas));
  if (!replica.runs() || replica.peer(options_.replicas) != peer) return;
  replica.member->on_message(message, now_s);
  if (replica.phase == Phase::exchange && replica.member->frozen_epoch() >= replica.step.epoch) {
    replica.phase = Phase::idle;
    ++replica.passes;
    replica.member->on_vote({});
  }
  collect(replica);
  act(replica, now_s);
}

void SimulatedMembers::act(SimulatedReplica& replica, double now_s) {
  if (replica.phase != Phase::idle) return;
  const resilience::MemberPlan plan = replica.member->plan();
  if (plan.action == resilience::MemberPlan::Action::restore) {
    written_ = checkpoint_;
    replica.member->on_restored(checkpoint_.done, checkpoint_.next_sample);
    collect(replica);
  } else if (plan.action == resilience::MemberPlan::Action::train) {
    replica.step = plan;
    begin_step(replica, now_s);
  }
}

void SimulatedMembers::begin_step(SimulatedReplica& replica, double now_s) {
  replica.member->begin_step();
  replica.phase = Phase::passes;
  replica.begin_s = replica.end_s = now_s;
  ++replica.passes;
  if (replica.step.is_behind) {
    plan(SimulatedEvent::fetched, replica, now_s + options_.costs.state_s);
    return end_passes(replica, now_s);
  }
  if (replica.computed_step != replica.step.step) replica.left_s = 0;
  replica.end_s += std::exchange(replica.left_s, 0) + passes_s(replica) + extra_s(replica, now_s);
  plan(SimulatedEvent::passes_end, replica, replica.end_s);
}

// Microbatches go through a pipeline one after the other; each round of them fills it and empties it.
double SimulatedMembers::passes_s(const SimulatedReplica& replica) const {
  std::int64_t samples = 0;
  const bool keeps = replica.computed_step == replica.step.step && !options_.costs.repeats_step;
  for (const resilience::Part& part : own_parts(replica))
    if (!keeps || std::find(replica.computed.begin(), replica.computed.end(), part) == replica.computed.end())
      samples += part.count;
  if (samples == 0) return 0;
  const resilience::SampleRules& rules = options_.samples;
  const auto rounds = [&](double count) {
    return count / static_cast<double>(rules.unit) + options_.pipeline - 1;
  };
  const double usual = static_cast<double>(rules.global_batch) / rules.replicas;
  return played_step_s() * rounds(static_cast<double>(samples)) / rounds(usual) / replica.speed;
}

// What a step takes besides; once, though it may be interrupted.
double SimulatedMembers::extra_s(SimulatedReplica& replica, double now_s) {
  const SimulatedCosts& costs = options_.costs;
  if (replica.computed_step == replica.step.step) return 0;
  double seconds = replica.has_contributed || own_parts(replica).empty() ? 0 : costs.first_step_s;
  const std::int64_t done = replica.step.step;
  if (const auto evaluations = times_due(options_.evaluation_steps, done)) {
    const double evaluations_s = static_cast<double>(evaluations) * costs.evaluation_s;
    seconds += evaluations_s;
    replica.member->on_validated({.done = done, .loss = 0, .seconds = evaluations_s});
    collect(replica);
  }
  if (const double saves = this->saves(replica, now_s); saves > 0) {
    written_ = {done, replica.member->progress().first_sample()};
    written_s_ = now_s;
    replica.saving_s = saves * costs.checkpoint_s;
    seconds += replica.saving_s;
    if (replica.saving_s == 0) tell_saved(replica, 0);
  }
  return seconds;
}

/// What is due after every so many steps, how often it was since the played step before.
std::int64_t SimulatedMembers::times_due(std::int64_t every, std::int64_t done) const {
  const std::int64_t at_once = options_.costs.steps_at_once;
  return every > 0 && done > 0 ? done * at_once / every - (done - 1) * at_once / every : 0;
}

/// How many checkpoints it writes before its next passes. A played step may be longer than the time between two.
double SimulatedMembers::saves(const SimulatedReplica& replica, double now_s) const {
  const std::int64_t done = replica.step.step;
  if (replica.member->epoch()->writer != replica.id.replica || done <= written_.done) return 0;
  if (options_.checkpoint_steps > 0) return static_cast<double>(times_due(options_.checkpoint_steps, done));
  if (now_s - written_s_ < options_.checkpoint_every_s) return 0;
  return std::max(1.0, played_step_s() / std::max(options_.checkpoint_every_s, options_.costs.step_s));
}

void SimulatedMembers::tell_saved(SimulatedReplica& replica, double seconds) {
  replica.member->on_saved({.done = written_.done, .bytes = 1, .seconds = seconds});
  collect(replica);
}

void SimulatedMembers::end_passes(SimulatedReplica& replica, double now_s) {
  if (!replica.step.is_behind) {
    replica.computed_step = replica.step.step;
    replica.computed = own_parts(replica);
  }
  if (const double seconds = std::exchange(replica.saving_s, 0)) tell_saved(replica, seconds);
  replica.phase = replica.member->begin_vote() ? Phase::exchange : Phase::idle;
  if (replica.phase == Phase::idle) return act(replica, now_s);
  replica.exchange_s = now_s;
  try_exchange(replica, now_s);
}

void SimulatedMembers::on_checkpoint(std::int64_t done) {
  if (done == written_.done) checkpoint_ = written_;
}

void SimulatedMembers::try_exchange(SimulatedReplica& replica, double now_s) {
  std::vector<SimulatedReplica*> members;
  double all_there_s = 0;
  bool are_whole = true;
  for (const resilience::EpochMember& member : replica.member->epoch()->members) {
    SimulatedReplica& other = at(member.id.replica);
    if (other.id != member.id || other.phase != Phase::exchange || other.step.epoch != replica.step.epoch ||
        other.step.step != replica.step.step)
      return;
    members.push_back(&other);
    all_there_s = std::max(all_there_s, other.exchange_s);
    are_whole &= other.member->progress().is_whole();
  }
  const double ends_s = all_there_s + options_.costs.join_wait_s;
  if (!are_whole && now_s < ends_s) return plan(SimulatedEvent::step_ready, replica, ends_s);
  complete_step(members, all_there_s, now_s);
}

void SimulatedMembers::complete_step(const std::vector<SimulatedReplica*>& members, double all_there_s,
                                     double now_s) {
  resilience::StepOutcome outcome{.has_all_sums = true, .whole = {}, .time = now_s};
  for (const SimulatedReplica* it : members) outcome.whole.push_back(it->member->progress().is_whole());
  for (SimulatedReplica* it : members) {
    it->phase = Phase::idle;
    ++it->passes;
    it->has_contributed |= !own_parts(*it).empty();
    if (it->member->on_vote(outcome) && it->step.is_behind)
      it->member->on_joined({.state_s = options_.costs.state_s, .held_s = now_s - all_there_s});
    collect(*it);
  }
  for (SimulatedReplica* it : members) act(*it, now_s);
}

void SimulatedMembers::collect(SimulatedReplica& replica) {
  for (resilience::MemberMessage& message : replica.member->take_messages())
    outbox_.emplace_back(replica.peer(options_.replicas), std::move(message));
}

void SimulatedMembers::plan(SimulatedEvent kind, const SimulatedReplica& replica, double time_s) {
  queue_.plan({.time_s = time_s, .kind = kind, .subject = replica.id.replica, .token = replica.passes});
}

}  // namespace tenax::app
