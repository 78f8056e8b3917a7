#include "app/supervisor/corrupt_events.hpp"

#include <algorithm>
#include <optional>

#include "app/units.hpp"

namespace tenax::app {

using resilience::CorruptBy;
using resilience::StateCorrupt;

namespace {

// A moment that is wrong makes the weight wrong in the next update; a gradient makes all of them so.
std::string part_of(const resilience::DigestDifference& found, const StatePlaces& places) {
  const auto moments = std::count(found.parts.begin() + 1, found.parts.end(), true);
  if (moments > 1) return "sum";
  std::string part;
  for (std::size_t i = 0; i < places.parts().size(); ++i)
    if (found.parts[i]) part = places.parts()[i];
  return part;
}

std::string text_of_replicas(const std::vector<resilience::ReplicaId>& replicas) {
  std::string text = replicas.size() == 1 ? "replica" : "replicas";
  for (const resilience::ReplicaId& id : replicas) text += " " + std::to_string(id.replica);
  return text;
}

}  // namespace

CorruptPlace corrupt_place(const StateCorrupt& corrupt, const StatePlaces& places) {
  CorruptPlace found;
  std::optional<std::int64_t> place;
  if (corrupt.by == CorruptBy::digest) {
    const auto differs = difference(*corrupt.right.digest, *corrupt.wrong.digest, places.count());
    place = differs.place;
    found.part = part_of(differs, places);
  } else {
    place = differing_place(corrupt.right.sums, corrupt.wrong.sums, places.count());
    found.part = corrupt.by == CorruptBy::squares ? "sum" : "own_sum";
  }
  if (!place) return found;
  found.rank = places.rank_of(*place);
  found.tensor = places.tensor_of(*place);
  return found;
}

std::vector<io::RunEvent> corrupt_events(const StateCorrupt& corrupt, const CorruptPlace& place,
                                         const HostOfRank& host_of) {
  io::RunEvent event{.step = 0, .name = "corrupt", .replica = {}, .rank = {}, .host = {}, .details = {}};
  if (place.rank >= 0) event.rank = place.rank;
  if (!place.tensor.empty()) event.details.add("tensor", place.tensor);
  event.details.add("part", place.part).add("commits", corrupt.commits).add("by", name_of(corrupt.by));
  std::vector<io::RunEvent> events;
  if (corrupt.is_tie) {
    std::vector<std::int64_t> replicas;
    for (const resilience::ReplicaId& id : corrupt.replicas) replicas.push_back(id.replica);
    event.details.add("replicas", replicas);
    return {event};
  }
  for (const resilience::ReplicaId& id : corrupt.replicas) {
    event.replica = id.replica;
    event.host = host_of(id.replica, place.rank);
    events.push_back(event);
  }
  return events;
}

std::string corrupt_line(const StateCorrupt& corrupt, const CorruptPlace& place) {
  const std::string what = place.part + (place.tensor.empty() ? "" : " of " + place.tensor) +
                           (place.rank < 0 ? "" : " on rank " + std::to_string(place.rank));
  const std::string who = text_of_replicas(corrupt.replicas);
  if (corrupt.is_tie)
    return format("%s differ in %s: back to a checkpoint of at most %lld steps", who.c_str(), what.c_str(),
                  static_cast<long long>(corrupt.trusted));
  return format("%s %s corrupt: %s", who.c_str(), corrupt.replicas.size() == 1 ? "is" : "are", what.c_str());
}

}  // namespace tenax::app
