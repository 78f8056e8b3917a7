#include "resilience/membership/epoch_decider.hpp"

#include <algorithm>
#include <utility>

#include "kernels/error.hpp"
#include "resilience/membership/zone_order.hpp"

namespace tenax::resilience {
namespace {

using Kind = EpochChange::Kind;
using Candidates = std::vector<Candidate>;

Candidate candidate_of(const Seat& seat, const Report& report, bool was_member) {
  return {.member = {.id = seat.id,
                     .host = seat.host,
                     .addresses = seat.addresses,
                     .state_addresses = seat.state_addresses},
          .report = report,
          .was_member = was_member};
}

template <class Message>
void ask_survivors(MembershipState& state, const Message& message) {
  std::vector<PeerId> peers;
  for (const Seat* seat : state.survivors()) peers.push_back(seat->peer);
  state.broadcast(std::move(peers), message);
}

/// Leaves those out that wish to leave and may: the others hold the state as well, and are enough.
void leave_out(MembershipState& state, Candidates& candidates) {
  Candidates rest = candidates;
  std::erase_if(rest, [&](const Candidate& it) { return state.seats().of(it.member.id)->leaves; });
  const auto least = static_cast<std::size_t>(state.options().min_replicas);
  if (rest.size() >= least && newest_done(rest) == newest_done(candidates)) std::swap(rest, candidates);
}

void add_joiners(MembershipState& state, Candidates& candidates) {
  for (const auto& [replica, seat] : state.seats().all())
    if (!state.is_member(seat.id)) candidates.push_back(candidate_of(seat, {}, false));
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.member.id.replica < b.member.id.replica; });
}

/// So that the ring crosses from zone to zone as seldom as can be.
void arrange(const std::vector<std::string>& zone_of_replica, Candidates& candidates) {
  if (zone_of_replica.empty()) return;
  std::vector<std::string> zones;
  for (const Candidate& it : candidates)
    zones.push_back(zone_of_replica.at(static_cast<std::size_t>(it.member.id.replica)));
  Candidates arranged;
  for (const std::size_t member : zone_order(zones)) arranged.push_back(candidates[member]);
  candidates = std::move(arranged);
}

}  // namespace

void EpochDecider::decide(MembershipState& state, double now) {
  if (has_ended_) return;
  const std::vector<Seat*> survivors = state.survivors();
  if (survivors.empty()) return start(state, now);
  steer(state, now);
  if (change_.kind() != Kind::none && std::all_of(survivors.begin(), survivors.end(), [&](const Seat* seat) {
        return change_.report_of(seat->id.replica) != nullptr;
      }))
    conclude(state, now);
}

void EpochDecider::take(MembershipState& state, Seat& seat, const HoldMissed& missed, double now) {
  seat.step = std::max(seat.step, missed.step - 1);
  if (change_.kind() == Kind::hold && change_.is_current(missed.change)) hold(state, now);
}

// A checkpoint in between may be of the step at which the run stops. Where it fails, the writer still tries the last one.
void EpochDecider::take(MembershipState& state, const Seat& seat, const Saved& saved) {
  const bool is_last = stop_at_ && stop_at_->done == saved.done && stop_at_->writer == seat.id.replica &&
                       (saved.failure.empty() || saved.is_final);
  const bool is_writer = state.is_member(seat.id) && state.writer() == seat.id.replica;
  if (!is_last && (!is_writer || saved.done > state.steps().done())) return;
  state.sync();  // a checkpoint that outlives the host must not be of steps that do not
  state.tell(CheckpointSaved{.writer = seat.id, .saved = saved, .is_last = is_last});
  if (is_last && saved.failure.empty()) end(state);
}

void EpochDecider::give_up(MembershipState& state, int replica) {
  given_up_.insert(replica);
  const int left = state.options().replicas - static_cast<int>(given_up_.size());
  if (left >= state.options().min_replicas || std::exchange(stop_wished_, true)) return;
  state.tell(TooFewLeft{.given_up = {given_up_.begin(), given_up_.end()}, .left = left});
}

std::vector<ReplicaId> EpochDecider::late(MembershipState& state, double now) const {
  std::vector<ReplicaId> found;
  if (!change_.is_late(now, state.options().dead_s)) return found;
  for (const Seat* seat : state.survivors())
    if (!change_.report_of(seat->id.replica)) found.push_back(seat->id);
  return found;
}

// Begins, replaces or takes back a change. A loss does not wait for a step to end; one that comes during a freeze is part
// of it.
void EpochDecider::steer(MembershipState& state, double now) {
  if (change_.kind() != Kind::freeze && state.is_broken())
    ask_survivors(state, change_.begin_freeze(state.epoch(), now));
  else if (change_.kind() == Kind::none && wants_hold(state))
    hold(state, now);
  else if (change_.kind() == Kind::hold && !wants_hold(state))
    ask_survivors(state, change_.resume());
}

bool EpochDecider::wants_hold(MembershipState& state) const {
  if (stop_wished_ || state.steps().done() >= state.options().train_steps) return true;
  const auto& seats = state.seats().all();
  return std::any_of(seats.begin(), seats.end(),
                     [&](const auto& it) { return it.second.leaves || !state.is_member(it.second.id); });
}

void EpochDecider::hold(MembershipState& state, double now) {
  std::int64_t newest = state.steps().done();
  for (const Seat* seat : state.survivors()) newest = std::max(newest, seat->step);
  ask_survivors(state, change_.begin_hold(state.epoch(), newest + 1, state.options().train_steps, now));
}

void EpochDecider::conclude(MembershipState& state, double now) {
  Candidates candidates;
  for (const Seat* seat : state.survivors())
    candidates.push_back(candidate_of(*seat, *change_.report_of(seat->id.replica), true));
  if (newest_done(candidates) >= 0) return settle(state, std::move(candidates), now);
  state.dissolve();
  start(state, now);
}

// Nobody is left who holds the state: all load the newest checkpoint.
void EpochDecider::start(MembershipState& state, double now) {
  change_.finish();
  if (stop_wished_) {
    tell_wait(state, now);
    return end(state);
  }
  const MembershipOptions& options = state.options();
  const int all = options.replicas - static_cast<int>(given_up_.size());
  const auto needed = static_cast<std::size_t>(std::max(1, has_begun_ ? options.min_replicas : all));
  if (state.seats().all().size() < needed) return await_members(now);
  if (state.doubts_checkpoints() || ask_to_restore(state)) return;
  Candidates candidates;
  for (const auto& [replica, seat] : state.seats().all())
    candidates.push_back(candidate_of(seat, {.done = seat.done, .next_sample = seat.next_sample}, false));
  settle(state, std::move(candidates), now);
}

/// Whether some are not through with it.
bool EpochDecider::ask_to_restore(MembershipState& state) {
  bool is_pending = false;
  for (auto& [replica, seat] : state.seats().all()) {
    if (seat.done >= 0) continue;
    is_pending = true;
    if (!std::exchange(seat.is_restoring, true)) state.send(seat, Restore{});
  }
  return is_pending;
}

// `candidates` have answered, and one of them at least holds a state: the newest of these states is what the run has.
void EpochDecider::settle(MembershipState& state, Candidates candidates, double now) {
  const std::int64_t done = newest_done(candidates);
  if (state.epoch() > 0 && done > state.steps().done())
    throw kernels::Error(kernels::Scope::job,
                         "replica " + std::to_string(first_holder(candidates).member.id.replica) +
                             " holds the state after " + std::to_string(done) +
                             " steps, but the ledger ends after " + std::to_string(state.steps().done()) +
                             "; resume from an earlier checkpoint");
  state.void_from(done, now);
  if (stop_wished_ || done >= state.options().train_steps) {
    tell_wait(state, now);
    return stop(state, candidates);
  }
  leave_out(state, candidates);
  if (!state.survivors().empty()) add_joiners(state, candidates);
  if (candidates.size() < static_cast<std::size_t>(state.options().min_replicas)) return await_members(now);
  arrange(state.options().zones, candidates);
  begin(state, candidates, now);
}

void EpochDecider::begin(MembershipState& state, const Candidates& candidates, double now) {
  Epoch epoch = begin_epoch(state.options().samples, candidates);
  epoch.number = state.epoch() + 1;
  epoch.reason = reason_of(state, candidates);
  epoch.writer = choose_writer(candidates, state.writer());
  entry_stall_s_ = change_.kind() == Kind::hold ? now - change_.waited_since(now) : 0;
  const double broken_since_s = state.broken_since(change_.kind() == Kind::freeze ? change_.began_s() : now);
  state.begin(epoch, now, change_.kind() == Kind::none ? 0 : now - change_.began_s());
  if (auto repeated = repeated_step(epoch, candidates)) {
    repeated->stall_s = now - broken_since_s;
    state.tell(*repeated);
  }
  state.dismiss_leavers();
  change_.finish();
  stop_at_.reset();
  has_begun_ = true;
  tell_wait(state, now);
}

EpochReason EpochDecider::reason_of(MembershipState& state, const Candidates& candidates) const {
  const auto stay = static_cast<std::size_t>(
      std::count_if(candidates.begin(), candidates.end(), [](const Candidate& it) { return it.was_member; }));
  if (stay == 0) return EpochReason::start;
  const std::size_t alive = state.survivors().size();
  if (alive < state.members().size()) return EpochReason::lost;
  if (stay < alive) return EpochReason::leave;
  return candidates.size() > stay ? EpochReason::join : EpochReason::lost;
}

void EpochDecider::stop(MembershipState& state, const Candidates& candidates) {
  const StopAt stop{.done = newest_done(candidates), .writer = choose_writer(candidates, state.writer())};
  std::vector<PeerId> peers;
  for (const Candidate& it : candidates) peers.push_back(state.seats().of(it.member.id)->peer);
  if (stop_at_ && stop_at_->done == stop.done && stop_at_->writer == stop.writer && stop_told_ == peers)
    return;
  stop_at_ = stop;
  stop_told_ = peers;
  state.sync();
  state.broadcast(std::move(peers), stop);
}

void EpochDecider::end(MembershipState& state) {
  state.broadcast(state.all_peers(), Ended{});
  has_ended_ = true;
}

void EpochDecider::await_members(double now) {
  if (has_begun_ && !awaits_since_s_) awaits_since_s_ = now;
}

// If they waited for others.
void EpochDecider::tell_wait(MembershipState& state, double now) {
  if (awaits_since_s_) state.tell(MembersAwaited{now - *awaits_since_s_});
  awaits_since_s_.reset();
}

}  // namespace tenax::resilience
