#include "resilience/mitigation/topology_swap.hpp"

#include <algorithm>

namespace tenax::resilience {
namespace {

using Score = PlacementTimes::Score;

struct Exchange {
  int place = 0, other = 0;
  Score score;
};

int place_of(int group, const std::vector<int>& group_of_place) {
  const auto found = std::find(group_of_place.begin(), group_of_place.end(), group);
  return static_cast<int>(found - group_of_place.begin());
}

/// The best one that wins something.
std::optional<Exchange> best_exchange(PlacementTimes& placement, std::span<const int> suspects,
                                      const std::function<bool(int, int)>& may_exchange) {
  std::optional<Exchange> best;
  Score least = placement.score();
  for (const int suspect : suspects) {
    const int place = place_of(suspect, placement.group_of_place());
    for (int other = 0; other < placement.places(); ++other) {
      const int group = placement.group_of_place()[static_cast<std::size_t>(other)];
      if (other == place || !may_exchange(suspect, group)) continue;
      const Score score = placement.score_with(place, other);
      if (!score.is_below(least)) continue;
      least = score;
      best = {.place = place, .other = other, .score = score};
    }
  }
  return best;
}

}  // namespace

// Where several pipelines are the slowest, an exchange that only makes one of them quicker prepares others. What follows
// on the last that shortened the iteration is not made.
std::optional<TopologySwap> find_topology_swap(PlacementTimes placement, std::span<const int> suspects,
                                               const std::function<bool(int, int)>& may_exchange) {
  Score least = placement.score();
  std::optional<TopologySwap> found;
  while (const std::optional<Exchange> next = best_exchange(placement, suspects, may_exchange)) {
    placement.exchange(next->place, next->other);
    if (!next->score.is_quicker(least)) continue;
    least = next->score;
    found = {.group_of_place = placement.group_of_place(), .iteration_s = least.iteration_s};
  }
  return found;
}

std::vector<int> rank_of_position(std::span<const int> group_of_place, int tensor) {
  std::vector<int> ranks;
  for (const int group : group_of_place)
    for (int i = 0; i < tensor; ++i) ranks.push_back(group * tensor + i);
  return ranks;
}

}  // namespace tenax::resilience
