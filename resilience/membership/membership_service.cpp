#include "resilience/membership/membership_service.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace tenax::resilience {
namespace {

/// The rank of a replica that talks to the service.
constexpr int kLeader = 0;

/// So often an epoch is built anew for a step whose exchange fails because of nobody knows whom.
constexpr int kMostFailures = 10;

}  // namespace

MembershipService::MembershipService(MembershipOptions options, const std::vector<Record>& records,
                                     double now)
    : state_(std::move(options), records), ticked_s_(now), taken_done_(state_.steps().done()) {}

void MembershipService::on_all_told(double now) { recover_until_s_ = now + state_.options().recovery_s; }

void MembershipService::on_message(PeerId peer, const MemberMessage& message, double now) {
  Seat* const seat = state_.seats().of_peer(peer);
  if (seat) {
    seat->heard_s = now;
    std::visit([&](const auto& known) { take(*seat, known, now); }, message);
  } else {
    hear_unseated(peer, message, now);
  }
  if (!std::holds_alternative<Beat>(message)) decide(now);
}

// Warm spares, and replicas that come.
void MembershipService::hear_unseated(PeerId peer, const MemberMessage& message, double now) {
  if (const auto* first = std::get_if<CheckIn>(&message)) check_in(peer, *first, now);
  if (spares_.hear(peer, now)) state_.broadcast({peer}, commit_ack());
  const auto* ready = std::get_if<SpareReady>(&message);
  if (!ready || has_ended()) return;
  spares_.add(peer, ready->spare, now);
  state_.tell(SpareSeen{ready->spare, true});
}

bool MembershipService::call_spare(int spare, ReplicaId id) {
  const auto peer = spares_.peer_of(spare);
  if (!peer) return false;
  spares_.remove(*peer);
  state_.broadcast({*peer}, TakePlace{id});
  return true;
}

void MembershipService::lose_spares(const std::vector<PeerId>& peers) {
  for (const PeerId peer : peers)
    if (const auto spare = spares_.remove(peer)) {
      state_.refuse(peer, "it is out of the run");
      state_.tell(SpareSeen{*spare, false});
    }
}

void MembershipService::on_closed(PeerId peer, double now) {
  lose_spares({peer});
  const Seat* const seat = state_.seats().of_peer(peer);
  if (!seat || has_ended()) return;
  state_.lose(seat->id, LossReason::connection, now, kLeader);
  decide(now);
}

void MembershipService::on_exit(ReplicaId id, double now) {
  if (has_ended()) return;
  state_.lose(id, LossReason::exit, now);
  decide(now);
}

void MembershipService::on_hang(ReplicaId id, int rank, double now) {
  if (has_ended()) return;
  state_.lose(id, LossReason::hang, now, rank);
  decide(now);
}

void MembershipService::on_started(ReplicaId id, double now) {
  if (has_ended()) return;
  lose_members_before(id, now);
  decide(now);
}

void MembershipService::on_given_up(int replica, double now) {
  decider_.give_up(state_, replica);
  const auto seat = state_.seats().all().find(replica);
  if (seat != state_.seats().all().end()) state_.lose(seat->second.id, LossReason::given_up, now);
  decide(now);
}

void MembershipService::on_stop_wish(double now) {
  decider_.wish_stop();
  decide(now);
}

void MembershipService::on_run_ended() {
  if (!has_ended()) decider_.end(state_);
}

void MembershipService::on_validation_recorded(std::int64_t done) {
  state_.broadcast(state_.all_peers(), ValidationAck{done});
}

void MembershipService::on_join_recorded(ReplicaId id, std::int64_t epoch) {
  if (const Seat* seat = state_.seats().of(id)) state_.send(*seat, JoinAck{epoch});
}

void MembershipService::on_observation_recorded(ReplicaId id, std::int64_t number) {
  if (const Seat* seat = state_.seats().of(id)) state_.send(*seat, ObservationAck{number});
}

void MembershipService::on_checkpoints_settled(double now) {
  state_.on_checkpoints_settled();
  decide(now);
}

void MembershipService::on_synced() {
  if (durable_done_ == taken_done_) return;
  durable_done_ = taken_done_;
  state_.broadcast(state_.all_peers(), commit_ack());
}

void MembershipService::on_time(double now) {
  forgive_pause(now);
  if (has_ended()) return;  // they exit, as they were told
  const double dead_s = state_.options().dead_s;
  lose_spares(spares_.silent(now, dead_s));
  for (const ReplicaId& id : state_.seats().silent(now, dead_s))
    state_.lose(id, LossReason::silent, now, kLeader);
  if (is_recovering() && now >= recover_until_s_)
    for (const ReplicaId& id : std::vector<ReplicaId>(state_.members()))
      if (!state_.seats().of(id) && !state_.seats().is_lost(id)) state_.lose(id, LossReason::silent, now);
  for (const ReplicaId& id : decider_.late(state_, now)) state_.lose(id, LossReason::silent, now, kLeader);
  resolve_suspicions(now);
  decide(now);
}

ServiceOutput MembershipService::take() {
  taken_done_ = state_.steps().done();
  durable_done_ = std::min(durable_done_, taken_done_);
  return state_.take();
}

void MembershipService::check_in(PeerId peer, const CheckIn& check_in, double now) {
  if (has_ended()) return state_.broadcast({peer}, Ended{});
  if (const std::string fault = state_.seats().fault(check_in); !fault.empty())
    return refuse(peer, check_in.id, fault);
  if (check_in.epoch > state_.epoch())
    return refuse(peer, check_in.id,
                  "it is in epoch " + std::to_string(check_in.epoch) + ", which this run never had");
  // An earlier service had lost it, and nothing but the void line says so.
  if (state_.steps().is_cut() && check_in.done > state_.steps().done()) {
    state_.lose(check_in.id, LossReason::connection, now);
    return state_.refuse(peer, "it holds steps that are void");
  }
  if (!settle_clashes(peer, check_in)) return;
  const auto& seats = state_.seats().all();
  if (const auto older = seats.find(check_in.id.replica); older != seats.end())
    state_.lose(older->second.id, LossReason::exit, now);
  lose_members_before(check_in.id, now);
  state_.seats().add(peer, check_in, now);
  const bool is_of_epoch = check_in.epoch == state_.epoch() && state_.is_member(check_in.id);
  state_.tell(ReplicaSeen{check_in.id, check_in.data, is_of_epoch && check_in.done >= 0});
  if (check_in.is_writer && is_of_epoch) state_.recall_writer(check_in.id.replica);
  if (check_in.epoch > 0) decider_.continue_begun();
  if (check_in.stops) decider_.wish_stop();
}

// Whether it can train with whoever is there: not on other files, nor with other loops. A member decides what the run
// has; others may have come before it to a service that started again. Where nobody is left, the run begins with what is there now,
// or with the loops of most.
bool MembershipService::settle_clashes(PeerId peer, const CheckIn& check_in) {
  const std::vector<Seats::Clash> clashes = state_.seats().clashes(check_in);
  if (clashes.empty()) return true;
  if (!state_.is_member(check_in.id) && !outnumbers_seated(check_in, clashes)) {
    const Seats::Clash& first = clashes.front();
    first.is_of_hosts ? state_.refuse(peer, first.fault) : refuse(peer, check_in.id, first.fault);
    return false;
  }
  for (const Seats::Clash& clash : clashes) {
    state_.turn_away(clash.other, clash.others_fault);
    if (!clash.is_of_hosts) newest_refused_[clash.other.replica] = clash.other.incarnation;
  }
  return true;
}

// The first to come may be the only one on a host of its kind.
bool MembershipService::outnumbers_seated(const CheckIn& check_in, const std::vector<Seats::Clash>& clashes) {
  const auto& members = state_.members();
  const bool has_members = std::any_of(members.begin(), members.end(),
                                       [&](const ReplicaId& id) { return !state_.seats().is_lost(id); });
  const bool is_of_hosts = std::all_of(clashes.begin(), clashes.end(),
                                       [](const Seats::Clash& clash) { return clash.is_of_hosts; });
  if (has_members || !is_of_hosts) return false;
  refused_loops_[check_in.id.replica] = check_in.loops;
  const auto alike = std::count_if(refused_loops_.begin(), refused_loops_.end(),
                                   [&](const auto& refused) { return refused.second == check_in.loops; });
  if (static_cast<std::size_t>(alike) <= state_.seats().all().size()) return false;
  refused_loops_.clear();
  return true;
}

// A start that was lost before may have been so through its host.
void MembershipService::refuse(PeerId peer, ReplicaId id, const std::string& reason) {
  if (!state_.seats().of(id) && !state_.seats().is_lost(id)) newest_refused_[id.replica] = id.incarnation;
  state_.refuse(peer, reason);
}

bool MembershipService::has_refused(ReplicaId id) const {
  const auto newest = newest_refused_.find(id.replica);
  return newest != newest_refused_.end() && newest->second == id.incarnation;
}

// A service that started again may know its replica by an earlier start, which it would wait for.
void MembershipService::lose_members_before(ReplicaId id, double now) {
  for (const ReplicaId& member : std::vector<ReplicaId>(state_.members()))
    if (member.replica == id.replica && member.incarnation < id.incarnation &&
        !state_.seats().is_lost(member))
      state_.lose(member, LossReason::exit, now);
}

void MembershipService::take(Seat& seat, const CheckIn& /*again*/, double now) {
  state_.lose(seat.id, LossReason::connection, now);
}

void MembershipService::take(Seat& seat, const Beat& beat, double /*now*/) {
  if (beat.epoch == state_.epoch()) seat.step = std::max(seat.step, beat.step);
  state_.send(seat, commit_ack());
}

void MembershipService::take(Seat& seat, const Report& report, double now) {
  decider_.take(seat, report, now);
}

void MembershipService::take(Seat& seat, const HoldMissed& missed, double now) {
  decider_.take(state_, seat, missed, now);
}

void MembershipService::take(Seat& seat, const Commit& commit, double now) {
  seat.step = std::max(seat.step, commit.record.step + 1);
  seat.is_behind = false;  // else it would not tell of one
  state_.commit(seat.id, commit.record, now);
}

void MembershipService::take(Seat& seat, const Suspect& suspect, double now) {
  if (state_.is_member(seat.id) && suspect.epoch == state_.epoch())
    state_.suspicions().add(seat.id.replica, suspect.replica, now);
}

// All members say so, the accused one too: the first is believed.
void MembershipService::take(Seat& seat, const Accuse& accuse, double now) {
  if (state_.is_member(seat.id) && accuse.epoch == state_.epoch()) state_.convict(accuse.accusation, now);
}

void MembershipService::take(Seat& seat, const Restored& restored, double /*now*/) {
  if (!seat.is_restoring) return;
  seat.is_restoring = false;
  seat.done = restored.done;
  seat.next_sample = restored.next_sample;
}

void MembershipService::take(Seat& seat, const Saved& saved, double /*now*/) {
  decider_.take(state_, seat, saved);
}

// Commits come before on the same link. A validation of steps that do not count is none of this run.
void MembershipService::take(Seat& seat, const Validated& validated, double /*now*/) {
  if (state_.is_member(seat.id) && validated.done <= state_.steps().done())
    state_.tell(StepValidated{validated});
}

void MembershipService::take(Seat& seat, const Observed& observed, double /*now*/) {
  state_.tell(ReplicaObserved{seat.id, observed});
}

void MembershipService::take(Seat& seat, const Joined& joined, double /*now*/) {
  if (state_.is_member(seat.id))
    state_.tell(ReplicaJoined{seat.id, joined, decider_.entry_stall_s() + joined.held_s});
}

void MembershipService::take(Seat& seat, const RankLost& lost, double now) {
  state_.lose({.id = seat.id,
               .host = lost.host,
               .reason = lost.is_gone ? LossReason::connection : LossReason::silent,
               .detect_s = lost.silent_s,
               .rank = lost.rank},
              now);
}

void MembershipService::take(Seat& seat, const ServiceMissed& missed, double /*now*/) {
  state_.tell(ServiceAwaited{seat.id, missed.seconds});
}

// A replica is no spare.
void MembershipService::take(Seat& seat, const SpareReady& /*ready*/, double now) {
  state_.lose(seat.id, LossReason::connection, now);
}

void MembershipService::take(Seat& /*seat*/, const StopWish& /*wish*/, double /*now*/) {
  decider_.wish_stop();
}

void MembershipService::take(Seat& seat, const Leave& /*wish*/, double /*now*/) { seat.leaves = true; }

void MembershipService::decide(double now) {
  if (!is_recovering()) decider_.decide(state_, now);
}

// Before it decides anything, a service that started again hears all who may still be in the epoch.
bool MembershipService::is_recovering() const {
  const Seats& seats = state_.seats();
  return std::any_of(state_.members().begin(), state_.members().end(),
                     [&](const ReplicaId& id) { return !seats.of(id) && !seats.is_lost(id); });
}

void MembershipService::resolve_suspicions(double now) {
  Suspicions& suspicions = state_.suspicions();
  if (decider_.is_frozen() || !suspicions.are_due(now, state_.options().suspect_s)) return;
  std::vector<int> ring;
  for (const Seat* seat : state_.survivors()) ring.push_back(seat->id.replica);
  std::vector<int> accused = suspicions.most_accused(ring);
  suspicions.clear();
  if (accused.empty() && ring.size() > 1 && fails_again()) accused = ring;
  if (!accused.empty()) return lose_one_of(accused, now);
  for (Seat* seat : state_.survivors()) seat->needs_change = true;
}

// The last: of those without the state, if there are any. The only one that holds it may be among them.
void MembershipService::lose_one_of(const std::vector<int>& accused, double now) {
  const auto& seats = state_.seats().all();
  auto lost = std::find_if(accused.rbegin(), accused.rend(),
                           [&](int replica) { return seats.at(replica).is_behind; });
  if (lost == accused.rend()) lost = accused.rbegin();
  failures_ = 0;  // those who are left may do better
  state_.lose(seats.at(*lost).id, LossReason::connection, now);
}

// Whether the same members in another epoch would fail just so.
bool MembershipService::fails_again() {
  if (std::exchange(failed_done_, state_.steps().done()) != state_.steps().done()) failures_ = 0;
  return ++failures_ > kMostFailures;
}

void MembershipService::forgive_pause(double now) {
  const double pause_s = now - std::exchange(ticked_s_, now);
  if (pause_s <= state_.options().dead_s / 2) return;
  for (auto& [replica, seat] : state_.seats().all()) seat.heard_s = std::min(now, seat.heard_s + pause_s);
  decider_.shift(pause_s);
  spares_.shift(pause_s);
  state_.suspicions().shift(pause_s);
  recover_until_s_ += pause_s;
}

}  // namespace tenax::resilience
