#include "resilience/membership/seats.hpp"

#include <algorithm>
#include <utility>

namespace tenax::resilience {

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

Seat& Seats::add(PeerId peer, const CheckIn& check_in, double now) {
  Seat& seat = seats_[check_in.id.replica];
  seat = {.peer = peer,
          .id = check_in.id,
          .host = check_in.host,
          .addresses = check_in.addresses,
          .state_addresses = check_in.state_addresses,
          .done = check_in.done,
          .next_sample = check_in.next_sample,
          .epoch = check_in.epoch,
          .step = std::max<std::int64_t>(0, check_in.done),
          .needs_change = check_in.needs_change,
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
