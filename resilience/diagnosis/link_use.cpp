#include "resilience/diagnosis/link_use.hpp"

#include <algorithm>
#include <cstddef>

namespace tenax::resilience {
namespace {

using comm::LinkTopology;
using parallel::GroupKind;
using parallel::ProcessGrid;

LinkTopology topology_of(GroupKind kind, const LinkRoutes& routes) {
  if (kind == GroupKind::tensor) return routes.tensor;
  return kind == GroupKind::data ? routes.data : LinkTopology::none;
}

/// The group of `rank`, in the order in which its ranks are joined.
std::vector<int> joined_group(GroupKind kind, int rank, const ProcessGrid& grid, const LinkRoutes& routes) {
  if (kind == GroupKind::data)
    for (const std::vector<int>& ring : routes.rings)
      if (std::find(ring.begin(), ring.end(), rank) != ring.end()) return ring;
  return grid.group(kind, rank);
}

bool joins_any_two(GroupKind kind, const LinkRoutes& routes) {
  return kind != GroupKind::pipeline && topology_of(kind, routes) != LinkTopology::ring;
}

/// The ranks next to `rank`. The ends of a ring are next to each other.
std::vector<int> neighbours_of(int rank, const std::vector<int>& joined, bool is_ring) {
  const auto place = static_cast<std::size_t>(std::find(joined.begin(), joined.end(), rank) - joined.begin());
  const std::size_t last = joined.size() - 1;
  std::vector<int> neighbours;
  if (is_ring || place > 0) neighbours.push_back(joined[place > 0 ? place - 1 : last]);
  if (is_ring || place < last) neighbours.push_back(joined[place < last ? place + 1 : 0]);
  return neighbours;
}

/// Whom `rank` exchanges messages with, in the order of its group; itself may be among them.
std::vector<int> peers_of(int rank, GroupKind kind, const ProcessGrid& grid, const LinkRoutes& routes) {
  std::vector<int> peers = grid.group(kind, rank);
  if (joins_any_two(kind, routes)) return peers;
  const std::vector<int> neighbours =
      neighbours_of(rank, joined_group(kind, rank, grid, routes), kind != GroupKind::pipeline);
  std::erase_if(peers, [&](int peer) {
    return std::find(neighbours.begin(), neighbours.end(), peer) == neighbours.end();
  });
  return peers;
}

}  // namespace

bool is_used(const Component& link, const ProcessGrid& grid, const LinkRoutes& routes) {
  const std::vector<int> peers = peers_of(link.rank, link.group, grid, routes);
  return std::find(peers.begin(), peers.end(), link.other) != peers.end();
}

void visit_used_links(GroupKind kind, const ProcessGrid& grid, const LinkRoutes& routes,
                      const LinkVisitor& visit) {
  for (int rank = 0; rank < grid.ranks(); ++rank)
    for (const int other : peers_of(rank, kind, grid, routes))
      if (rank < other && !visit({rank, other})) return;
}

}  // namespace tenax::resilience
