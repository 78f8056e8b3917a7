#include "app/simulation/simulated_run.hpp"

#include <algorithm>
#include <limits>
#include <variant>

namespace tenax::app {

namespace {

resilience::MembershipOptions membership_options(const SimulationOptions& options,
                                                 const SimulatedPlaces& places) {
  resilience::MembershipOptions membership;
  membership.replicas = options.replicas;
  membership.min_replicas = options.min_replicas;
  membership.samples = options.samples;
  membership.train_steps = std::numeric_limits<std::int64_t>::max();
  membership.dead_s = options.costs.dead_s;
  for (int replica = 0; !options.zones.empty() && replica < options.replicas; ++replica)
    membership.zones.push_back(places.zone_of(replica));
  return membership;
}

SimulatedPlaces::Options place_options(const SimulationOptions& options) {
  return {.replicas = options.replicas,
          .spares = options.spares,
          .zones = options.zones,
          .restart = options.restart,
          .repair_s = options.repair_s,
          .is_regular = options.is_regular,
          .restart_s = options.costs.restart_s,
          .takeover_s = options.costs.takeover_s};
}

// Where each played step has an evaluation or a checkpoint, none tells how long it takes without.
resilience::EffectiveTime::Options account_options(const SimulationOptions& options) {
  return {.begin_s = 0,
          .replicas = options.replicas,
          .global_batch = options.samples.global_batch,
          .usual_s = options.costs.step_s * options.costs.steps_at_once};
}

}  // namespace

SimulatedRun::SimulatedRun(const SimulationOptions& options, std::uint64_t seed)
    : options_(options),
      random_(2 * seed),
      slow_random_(2 * seed + 1),
      places_(place_options(options_), random_, queue_),
      members_(options_, queue_),
      absent_since_s_(static_cast<std::size_t>(options_.replicas), 0),
      service_(membership_options(options_, places_), {}, 0),
      account_(account_options(options_)) {
  if (options_.failure_s > 0) plan_failure();
  for (int replica = 0; options_.slow.between_s > 0 && replica < options_.replicas; ++replica)
    plan_slow(replica);
}

SimulationResult SimulatedRun::play() {
  const double end_s = kHour_s * options_.hours;
  while (!queue_.is_empty() && queue_.next_s() < end_s) {
    const Event event = queue_.take();
    now_s_ = event.time_s;
    happen(event);
    pump();
  }
  now_s_ = end_s;
  return conclude();
}

void SimulatedRun::happen(const Event& event) {
  switch (event.kind) {
    case SimulatedEvent::failure:
      return fail(event.subject);
    case SimulatedEvent::repaired:
      return places_.on_repaired(event.subject, now_s_);
    case SimulatedEvent::start:
      return start(event);
    case SimulatedEvent::closed:
      service_.on_closed(event.token, now_s_);
      return drain();
    case SimulatedEvent::answer: {
      const auto& [peer, report] = answers_[static_cast<std::size_t>(event.subject)];
      service_.on_message(peer, report, now_s_);
      return drain();
    }
    case SimulatedEvent::beat:
      beats_ = false;
      hear_all();
      return plan_beat();
    case SimulatedEvent::slow_begin:
    case SimulatedEvent::slow_end:
      return change_speed(event);
    default:
      return members_.happen(event);
  }
}

void SimulatedRun::start(const Event& event) {
  if (!places_.is_next_start(event.subject, event.token)) return;
  const resilience::ReplicaId id = members_.start(event.subject, now_s_);
  if (!options_.zones.empty()) service_.on_zone(id.replica, places_.zone_of(id.replica));
  service_.on_started(id, now_s_);
  drain();
}

// Whoever lives has been heard of until now, the one that fails too.
void SimulatedRun::fail(int place) {
  ++result_.failures;
  plan_failure();
  const auto replica = places_.on_failure(place, now_s_);
  if (!replica || members_.replica(*replica).life == SimulatedReplica::Life::silent) return;
  if (!members_.replica(*replica).runs()) return lose(*replica);
  hear_all();
  members_.fall_silent(*replica, now_s_);
  plan_beat();
  const std::vector<double>& detect_s = options_.costs.detect_s;
  if (detect_s.empty()) return;
  queue_.plan({.time_s = now_s_ +
                         detect_s[static_cast<std::size_t>(random_.below(static_cast<int>(detect_s.size())))],
               .kind = SimulatedEvent::closed,
               .subject = *replica,
               .token = members_.peer_of(*replica)});
}

void SimulatedRun::hear_all() {
  members_.beat();
  pump();
  service_.on_time(now_s_);
  drain();
  pump();
}

// Where all are heard of or lost, time alone changes nothing.
void SimulatedRun::plan_beat() {
  if (beats_ || !members_.has_silent()) return;
  beats_ = true;
  queue_.plan({.time_s = now_s_ + options_.costs.heartbeat_s, .kind = SimulatedEvent::beat});
}

// Idle hosts fail as those at work do.
void SimulatedRun::plan_failure() {
  const double mean_s = options_.failure_s * options_.replicas / places_.count();
  const double seconds = options_.is_regular ? mean_s : random_.exponential(mean_s);
  queue_.plan({.time_s = now_s_ + seconds,
               .kind = SimulatedEvent::failure,
               .subject = random_.below(places_.count())});
}

void SimulatedRun::plan_slow(int replica) {
  queue_.plan({.time_s = now_s_ + slow_random_.exponential(options_.slow.between_s),
               .kind = SimulatedEvent::slow_begin,
               .subject = replica});
}

void SimulatedRun::change_speed(const Event& event) {
  if (event.kind == SimulatedEvent::slow_end)
    return members_.change_speed(event.subject, 1 / speed_of_episode_[static_cast<std::size_t>(event.token)]);
  plan_slow(event.subject);
  speed_of_episode_.push_back(1 - options_.slow.draw_loss(slow_random_));
  members_.change_speed(event.subject, speed_of_episode_.back());
  queue_.plan({.time_s = now_s_ + slow_random_.exponential(options_.slow.duration_s),
               .kind = SimulatedEvent::slow_end,
               .subject = event.subject,
               .token = static_cast<std::int64_t>(speed_of_episode_.size()) - 1});
}

// Its supervisor ends what is left of it, and starts it again.
void SimulatedRun::lose(int replica) {
  members_.end(replica);
  if (places_.on_lost(replica, now_s_)) return;
  ++result_.given_up;
  service_.on_given_up(replica, now_s_);
  drain();
}

void SimulatedRun::pump() {
  while (!members_.outbox().empty() || !lost_.empty()) {
    if (!lost_.empty()) {
      const int replica = lost_.back();
      lost_.pop_back();
      lose(replica);
      continue;
    }
    const Answer next = std::move(members_.outbox().front());
    members_.outbox().pop_front();
    if (options_.costs.reconfigure_s > 0 && std::holds_alternative<resilience::Report>(next.second)) {
      queue_.plan({.time_s = now_s_ + std::min(options_.costs.reconfigure_s, options_.costs.dead_s / 2),
                   .kind = SimulatedEvent::answer,
                   .subject = static_cast<int>(answers_.size())});
      answers_.push_back(next);
      continue;
    }
    service_.on_message(next.first, next.second, now_s_);
    drain();
  }
}

void SimulatedRun::drain() {
  constexpr std::int64_t kBetweenSyncs = 64;
  const resilience::ServiceOutput output = service_.take();
  for (const resilience::Record& record : output.records) take(record);
  if (output.sync || unsynced_ >= kBetweenSyncs) {
    unsynced_ = 0;
    service_.on_synced();
  }
  for (const resilience::ServiceEvent& event : output.events) take(event);
  for (const resilience::OutgoingMessage& outgoing : output.messages)
    for (const resilience::PeerId peer : outgoing.to) members_.on_message(peer, outgoing.message, now_s_);
}

void SimulatedRun::take(const resilience::Record& record) {
  ++unsynced_;
  account_.take(record);
  if (const auto* commit = std::get_if<resilience::CommitRecord>(&record))
    for (const resilience::Part& part : commit->parts) places_.on_commit(part.replica);
}

void SimulatedRun::take(const resilience::ServiceEvent& event) {
  account_.take(event, now_s_);
  if (const auto* lost = std::get_if<resilience::ReplicaLost>(&event)) {
    ++result_.losses;
    if (members_.replica(lost->id.replica).id == lost->id) lost_.push_back(lost->id.replica);
  } else if (const auto* began = std::get_if<resilience::EpochBegan>(&event)) {
    ++result_.epochs;
    note_members(began->epoch);
  } else if (const auto* saved = std::get_if<resilience::CheckpointSaved>(&event)) {
    members_.on_checkpoint(saved->saved.done);
  } else if (const auto* validated = std::get_if<resilience::StepValidated>(&event)) {
    service_.on_validation_recorded(validated->validated.done);
  } else if (const auto* joined = std::get_if<resilience::ReplicaJoined>(&event)) {
    service_.on_join_recorded(joined->id, joined->joined.epoch);
  }
}

void SimulatedRun::note_members(const resilience::Epoch& epoch) {
  for (int replica = 0; replica < options_.replicas; ++replica) {
    double& since_s = absent_since_s_[static_cast<std::size_t>(replica)];
    const bool was_absent = since_s >= 0, is_absent = !epoch.find(replica);
    if (was_absent && !is_absent) result_.absences.push_back({replica, since_s, now_s_});
    if (was_absent != is_absent) since_s = is_absent ? now_s_ : -1;
  }
}

SimulationResult SimulatedRun::conclude() {
  for (int replica = 0; replica < options_.replicas; ++replica)
    if (const double since_s = absent_since_s_[static_cast<std::size_t>(replica)]; since_s >= 0)
      result_.absences.push_back({replica, since_s, now_s_});
  result_.spans = account_.spans(now_s_);
  result_.time = resilience::TimeByCause(result_.spans);
  const resilience::CommittedSteps& steps = service_.state().steps();
  result_.steps = steps.done() * options_.costs.steps_at_once;
  result_.samples = steps.samples_after(steps.done()).value_or(0);
  return result_;
}

}  // namespace tenax::app
