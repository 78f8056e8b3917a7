#include "resilience/membership/membership_state.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace tenax::resilience {

MembershipState::MembershipState(MembershipOptions options, const std::vector<Record>& records)
    : options_(std::move(options)),
      seats_({.replicas = options_.replicas, .build = options_.build, .deck = options_.deck}),
      vote_(options_.digest_steps) {
  for (const Record& record : records) steps_.add(record);
  if (steps_.epoch())
    for (const EpochRecord::Member& member : steps_.epoch()->members)
      if (member.id.replica < options_.replicas) members_.push_back(member.id);  // the run may have fewer now
  recall_votes(records);
  for (const ReplicaId& id : steps_.newest_members())
    seats_.lose(is_member(id) ? ReplicaId{id.replica, id.incarnation - 1} : id);
}

/// What an earlier service has not compared any more is not trusted. It has not left either who of the members has fetched
/// the state since.
void MembershipState::recall_votes(const std::vector<Record>& records) {
  const std::int64_t trusted = std::max<std::int64_t>(0, steps_.done() - options_.digest_steps);
  std::set<int> all, old;
  for (const ReplicaId& id : members_) all.insert(id.replica);
  for (const Record& record : records) {
    const auto* epoch = std::get_if<EpochRecord>(&record);
    if (!epoch || (epoch->reason != EpochReason::start && epoch->from_step > trusted)) continue;
    for (const EpochRecord::Member& member : epoch->members)
      if (is_member(member.id)) old.insert(member.id.replica);
  }
  vote_.trust(trusted);
  vote_.begin(std::move(old), trusted);
  vote_.begin(std::move(all), steps_.done());
}

bool MembershipState::is_member(ReplicaId id) const {
  return std::find(members_.begin(), members_.end(), id) != members_.end();
}

std::vector<Seat*> MembershipState::survivors() {
  std::vector<Seat*> found;
  for (const ReplicaId& id : members_)
    if (Seat* seat = seats_.of(id)) found.push_back(seat);
  return found;
}

bool MembershipState::is_broken() {
  const std::vector<Seat*> survivors = this->survivors();
  return survivors.size() < members_.size() ||
         std::any_of(survivors.begin(), survivors.end(),
                     [&](const Seat* seat) { return seat->needs_change || seat->epoch != epoch(); });
}

void MembershipState::begin(const Epoch& epoch, double now, double reconfigure_s) {
  EpochRecord line{unix_time(now), epoch.number, epoch.from_step, {}, epoch.reason};
  for (const EpochMember& member : epoch.members) line.members.push_back({member.id, member.host});
  record(line);
  sync();
  broadcast(enroll(epoch), NewEpoch{epoch});
  writer_ = epoch.writer;
  suspicions_.clear();
  broken_since_s_.reset();
  tell(EpochBegan{epoch, reconfigure_s});
}

/// Returns the members' links.
std::vector<PeerId> MembershipState::enroll(const Epoch& epoch) {
  members_.clear();
  std::vector<PeerId> peers;
  std::set<int> holders;
  for (const EpochMember& member : epoch.members) {
    members_.push_back(member.id);
    if (!member.is_behind) holders.insert(member.id.replica);
    Seat& seat = *seats_.of(member.id);
    seat.epoch = epoch.number;
    seat.step = epoch.from_step;
    seat.done = -1;  // from now on its reports tell
    seat.needs_change = seat.is_restoring = false;
    seat.is_behind = member.is_behind;
    peers.push_back(seat.peer);
  }
  vote_.begin(std::move(holders), epoch.from_step);
  if (epoch.reason == EpochReason::start) vote_.trust(epoch.from_step);
  return peers;
}

void MembershipState::dissolve() { members_.clear(); }

void MembershipState::commit(ReplicaId sender, const CommitRecord& commit, double now) {
  if (!is_member(sender)) return;
  if (commit.step >= steps_.done()) {
    if (!steps_.fault(commit).empty()) return lose(sender, LossReason::diverged, now);
    record(commit);
  }
  if (commit.epoch != epoch()) return;
  if (const auto dissent =
          vote_.add(commit.step, sender.replica, {commit.squares, commit.sums, commit.digest}))
    convict(*dissent, now);
}

// Where nobody can say which are right, nobody is left to go on: all load a checkpoint of when they were equal.
void MembershipState::convict(const Dissent& dissent, double now) {
  const auto is_named = [&](int replica) {
    return std::find(dissent.replicas.begin(), dissent.replicas.end(), replica) != dissent.replicas.end();
  };
  StateCorrupt corrupt{.by = dissent.by,
                       .replicas = {},
                       .is_tie = dissent.is_tie,
                       .trusted = dissent.trusted,
                       .distrusts_checkpoints = dissent.is_tie || is_named(writer_),
                       .commits = steps_.done() - dissent.trusted,
                       .right = dissent.right,
                       .wrong = dissent.wrong};
  for (const ReplicaId& id : members_)
    if (is_named(id.replica)) corrupt.replicas.push_back(id);
  tell(corrupt);
  if (corrupt.distrusts_checkpoints) ++doubted_;
  for (const ReplicaId& id : dissent.is_tie ? std::vector<ReplicaId>(members_) : corrupt.replicas)
    lose(id, LossReason::corrupt, now);
}

void MembershipState::convict(const Accusation& accusation, double now) {
  for (const ReplicaId& id : std::vector<ReplicaId>(members_)) {
    if (id.replica != accusation.replica || !seats_.of(id)) continue;
    tell(StateCorrupt{.by = accusation.by,
                      .replicas = {id},
                      .trusted = steps_.done(),
                      .right = {.sums = accusation.right},
                      .wrong = {.sums = accusation.wrong}});
    lose(id, LossReason::corrupt, now);
  }
}

void MembershipState::void_from(std::int64_t done, double now) {
  if (done >= steps_.done() || !steps_.epoch()) return;
  record(VoidRecord{unix_time(now), done, epoch()});
  tell(StepsVoided{done});
}

void MembershipState::lose(ReplicaId id, LossReason reason, double now, int rank) {
  const Seat* seat = seats_.of(id);
  lose({.id = id,
        .host = seat ? seat->host : host_of(id),
        .reason = reason,
        .detect_s = seat ? now - seat->heard_s : 0,
        .rank = rank},
       now);
}

void MembershipState::lose(const ReplicaLost& lost, double now) {
  const Seat* seat = seats_.of(lost.id);
  const bool is_member = this->is_member(lost.id);
  if (seat || (is_member && !seats_.is_lost(lost.id))) tell(lost);
  if (is_member) broken_since_s_ = std::min(broken_since(now), now - lost.detect_s);
  if (seat) evict(*seat, std::string("the membership service has lost it: ") + name_of(lost.reason));
  seats_.lose(lost.id);
}

/// Of a member that is not there.
std::string MembershipState::host_of(ReplicaId id) const {
  if (steps_.epoch())
    for (const EpochRecord::Member& member : steps_.epoch()->members)
      if (member.id == id) return member.host;
  return {};
}

void MembershipState::turn_away(ReplicaId id, const std::string& reason) {
  evict(*seats_.of(id), reason);
  seats_.lose(id);
}

void MembershipState::dismiss_leavers() {
  std::vector<ReplicaId> leaving;
  for (const auto& [replica, seat] : seats_.all())
    if (seat.leaves && !is_member(seat.id)) leaving.push_back(seat.id);
  for (const ReplicaId& id : leaving) turn_away(id, "it left as it wished");
}

void MembershipState::evict(const Seat& seat, const std::string& reason) {
  send(seat, Evicted{reason});
  output_.closed.push_back(seat.peer);
}

void MembershipState::broadcast(std::vector<PeerId> to, ServiceMessage message) {
  output_.messages.push_back({.to = std::move(to), .message = std::move(message)});
}

std::vector<PeerId> MembershipState::all_peers() const {
  std::vector<PeerId> peers;
  for (const auto& [replica, seat] : seats_.all()) peers.push_back(seat.peer);
  return peers;
}

void MembershipState::refuse(PeerId peer, const std::string& reason) {
  broadcast({peer}, Refused{reason});
  output_.closed.push_back(peer);
}

void MembershipState::tell(const ServiceEvent& event) { output_.events.push_back(event); }

ServiceOutput MembershipState::take() { return std::exchange(output_, {}); }

void MembershipState::record(const Record& record) {
  steps_.add(record);
  output_.records.push_back(record);
}

}  // namespace tenax::resilience
