// ServiceBench: a membership service whose members are played by a test.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "resilience/membership/membership_service.hpp"

namespace tenax::resilience {

/// First starts of replicas.
inline constexpr ReplicaId k0{0, 1}, k1{1, 1}, k2{2, 1};

using Replicas = std::vector<int>;
/// The members of an epoch, and those of them that lack its state.
inline Replicas replicas_of(const Epoch& epoch) {
  Replicas replicas;
  for (const EpochMember& member : epoch.members) replicas.push_back(member.id.replica);
  return replicas;
}
inline Replicas behind_in(const Epoch& epoch) {
  Replicas replicas;
  for (const EpochMember& member : epoch.members)
    if (member.is_behind) replicas.push_back(member.id.replica);
  return replicas;
}

/// Replica k talks over link 10 × incarnation + k. Steps have 2 samples a replica.
class ServiceBench {
 public:
  explicit ServiceBench(int replicas, std::vector<Record> stored = {}, int min_replicas = 1)
      : records(std::move(stored)), service_(options(replicas, min_replicas), records, 0) {}

  static MembershipOptions options(int replicas, int min_replicas) {
    MembershipOptions options;
    options.replicas = replicas;
    options.min_replicas = min_replicas;
    options.build = "b";
    options.deck = "d";
    options.samples = {.global_batch = 2 * replicas, .replicas = replicas};
    options.train_steps = 100;
    options.digest_steps = 4;
    return options;
  }

  static PeerId peer(ReplicaId id) { return 10 * id.incarnation + id.replica; }
  static CheckIn check_in(ReplicaId id) { return {.id = id, .build = "b", .deck = "d", .host = "h"}; }

  void say(ReplicaId id, const MemberMessage& message) {
    service_.on_message(peer(id), message, now);
    drain();
  }
  void come(ReplicaId id) { say(id, check_in(id)); }
  /// All replicas come, restore the state after `done` steps, and are in the first epoch.
  void start(int replicas, std::int64_t done = 0) {
    for (int replica = 0; replica < replicas; ++replica) come({replica, 1});
    for (int replica = 0; replica < replicas; ++replica)
      say({replica, 1}, Restored{done, 2 * replicas * done});
  }
  void close(ReplicaId id) {
    service_.on_closed(peer(id), now);
    drain();
  }
  /// Answers the newest Freeze or Hold that `id` got. Steps have `batch` samples.
  void report(ReplicaId id, std::int64_t done, std::int64_t batch, std::vector<Part> parts = {}) {
    const auto change = is_held(id) ? last<Hold>(id).change : last<Freeze>(id).change;
    say(id, Report{.change = change,
                   .epoch = epoch().number,
                   .done = done,
                   .next_sample = done < 0 ? 0 : done * batch,
                   .has_begun = !parts.empty(),
                   .parts = std::move(parts)});
  }
  void commit(ReplicaId id, std::int64_t step, std::uint64_t squares = 1,
              const std::optional<StateDigest>& digest = {}) {
    const std::int64_t batch = count_samples(epoch().parts);
    std::vector<Part> parts = epoch().parts;
    for (Part& part : parts) part.first += step * batch - epoch().first_sample;
    say(id, Commit{{.step = step,
                    .epoch = epoch().number,
                    .first_sample = step * batch,
                    .parts = parts,
                    .squares = squares,
                    .digest = digest}});
  }
  /// `seconds` pass; all replicas of `alive` give signs of life.
  void pass(double seconds, const std::vector<ReplicaId>& alive) {
    for (double end = now + seconds; now < end;) {
      now += 0.1;
      for (const ReplicaId& id : alive) service_.on_message(peer(id), Beat{}, now);
      service_.on_time(now);
      drain();
    }
  }
  void settle_checkpoints() {
    service_.on_checkpoints_settled(now);
    drain();
  }
  void sync() {
    service_.on_synced();
    drain();
  }

  template <class Message>
  std::vector<Message> all(ReplicaId id) const {
    std::vector<Message> found;
    if (const auto inbox = inbox_.find(peer(id)); inbox != inbox_.end())
      for (const ServiceMessage& message : inbox->second)
        if (const auto* known = std::get_if<Message>(&message)) found.push_back(*known);
    return found;
  }
  template <class Message>
  Message last(ReplicaId id) const {
    const std::vector<Message> found = all<Message>(id);
    EXPECT_FALSE(found.empty()) << "replica " << id.replica << " got no " << Message::kKind;
    return found.empty() ? Message{} : found.back();
  }
  template <class Message>
  std::size_t count(ReplicaId id) const {
    return all<Message>(id).size();
  }
  template <class Event>
  std::vector<Event> events() const {
    std::vector<Event> found;
    for (const ServiceEvent& event : events_)
      if (const auto* known = std::get_if<Event>(&event)) found.push_back(*known);
    return found;
  }
  /// The newest.
  const Epoch& epoch() const { return epoch_; }
  MembershipService& service() { return service_; }

  double now = 0;
  std::vector<Record> records;
  std::size_t stored_for_good = 0;  // of them, asked for by the service
  std::vector<PeerId> closed;

 private:
  bool is_held(ReplicaId id) const {
    const auto holds = all<Hold>(id);
    const auto freezes = all<Freeze>(id);
    return !holds.empty() && (freezes.empty() || freezes.back().change < holds.back().change);
  }
  void drain() {
    ServiceOutput output = service_.take();
    records.insert(records.end(), output.records.begin(), output.records.end());
    closed.insert(closed.end(), output.closed.begin(), output.closed.end());
    if (output.sync) stored_for_good = records.size();
    for (const auto& [peers, message] : output.messages)
      for (const PeerId peer : peers) inbox_[peer].push_back(message);
    for (const ServiceEvent& event : output.events) {
      if (const auto* began = std::get_if<EpochBegan>(&event)) epoch_ = began->epoch;
      events_.push_back(event);
    }
  }

  MembershipService service_;
  std::map<PeerId, std::vector<ServiceMessage>> inbox_;
  std::vector<ServiceEvent> events_;
  Epoch epoch_;
};

}  // namespace tenax::resilience
