#include "resilience/membership/seats.hpp"

#include <algorithm>
#include <utility>

#include "kernels/host.hpp"

namespace tenax::resilience {
namespace {

// Those with fewer instructions run where the others do.
std::string fewest_of(const std::string& loops, const std::string& others) {
  for (const std::string& name : kernels::built_loops_names())
    if (loops.find(name) != std::string::npos || others.find(name) != std::string::npos) return name;
  return "baseline";
}

// Each sums the equal gradients by itself: with other loops it would soon be taken for corrupt.
std::string fault_of_loops(const std::string& loops, const std::string& others) {
  if (loops.empty() || others.empty())
    return "it computes on another kind of device than the run: name one for all in device.kind";
  return "its processors take the loops " + loops + ", the run's " + others +
         ": start all with TENAX_CPU_LOOPS=" + fewest_of(loops, others);
}

/// Why a replica cannot train with another one; empty if it can.
template <class Replica, class Other>
std::string fault_beside(const Replica& replica, const Other& other) {
  if (replica.data != other.data)
    return "its data files are others than those that the run trains on: one has come, gone or changed "
           "since; "
           "undo that, or start the whole run again";
  return replica.loops == other.loops ? std::string() : fault_of_loops(replica.loops, other.loops);
}

}  // namespace

std::string Seats::fault(const CheckIn& check_in) const {
  const ReplicaId id = check_in.id;
  if (check_in.build != options_.build)
    return "it is build " + check_in.build + ", the run is trained by " + options_.build;
  if (check_in.deck != options_.deck) return "it has another deck than the run";
  if (id.replica < 0 || id.replica >= options_.replicas)
    return "the run has no replica " + std::to_string(id.replica);
  if (is_lost(id)) return "its start " + std::to_string(id.incarnation) + " was given up for lost";
  const auto seat = seats_.find(id.replica);
  if (seat != seats_.end() && seat->second.id.incarnation >= id.incarnation)
    return "its start " + std::to_string(seat->second.id.incarnation) + " takes part already";
  return {};
}

std::vector<Seats::Clash> Seats::clashes(const CheckIn& check_in) const {
  std::vector<Clash> found;
  for (const auto& [replica, seat] : seats_) {
    if (replica == check_in.id.replica) continue;
    const std::string fault = fault_beside(check_in, seat);
    if (fault.empty()) continue;
    const bool is_of_hosts = check_in.data == seat.data;
    found.push_back({seat.id, fault, fault_beside(seat, check_in), is_of_hosts});
  }
  return found;
}

Seat& Seats::add(PeerId peer, const CheckIn& check_in, double now) {
  Seat& seat = seats_[check_in.id.replica];
  seat = {.peer = peer,
          .id = check_in.id,
          .data = check_in.data,
          .loops = check_in.loops,
          .host = check_in.host,
          .addresses = check_in.addresses,
          .state_addresses = check_in.state_addresses,
          .done = check_in.done,
          .next_sample = check_in.next_sample,
          .epoch = check_in.epoch,
          .step = std::max<std::int64_t>(0, check_in.done),
          .needs_change = check_in.needs_change,
          .is_behind = check_in.epoch > 0 && check_in.done < 0,
          .heard_s = now};
  return seat;
}

void Seats::lose(ReplicaId id) {
  if (of(id)) seats_.erase(id.replica);
  int& newest = newest_lost_[id.replica];
  newest = std::max(newest, id.incarnation);
}

bool Seats::is_lost(ReplicaId id) const {
  const auto newest = newest_lost_.find(id.replica);
  return newest != newest_lost_.end() && id.incarnation <= newest->second;
}

Seat* Seats::of_peer(PeerId peer) {
  for (auto& [replica, seat] : seats_)
    if (seat.peer == peer) return &seat;
  return nullptr;
}

Seat* Seats::of(ReplicaId id) { return const_cast<Seat*>(std::as_const(*this).of(id)); }

const Seat* Seats::of(ReplicaId id) const {
  const auto seat = seats_.find(id.replica);
  return seat != seats_.end() && seat->second.id == id ? &seat->second : nullptr;
}

std::vector<ReplicaId> Seats::silent(double now, double dead_s) const {
  std::vector<ReplicaId> found;
  for (const auto& [replica, seat] : seats_)
    if (now - seat.heard_s > dead_s) found.push_back(seat.id);
  return found;
}

}  // namespace tenax::resilience
