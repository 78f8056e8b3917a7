#include "resilience/diagnosis/link_use.hpp"

#include <algorithm>
#include <cstdlib>

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

bool are_joined(GroupKind kind, std::ptrdiff_t a, std::ptrdiff_t b, std::size_t ranks,
                LinkTopology topology) {
  const auto apart = static_cast<std::size_t>(std::abs(a - b));
  if (kind == GroupKind::pipeline) return apart == 1;
  return topology != LinkTopology::ring || apart == 1 || apart + 1 == ranks;
}

}  // namespace

bool is_used(const Component& link, const ProcessGrid& grid, const LinkRoutes& routes) {
  const std::vector<int> group = joined_group(link.group, link.rank, grid, routes);
  const auto place = std::find(group.begin(), group.end(), link.rank);
  const auto other = std::find(group.begin(), group.end(), link.other);
  return other != group.end() && are_joined(link.group, place - group.begin(), other - group.begin(),
                                            group.size(), topology_of(link.group, routes));
}

std::vector<LinkEnds> used_links(GroupKind kind, const ProcessGrid& grid, const LinkRoutes& routes) {
  std::vector<LinkEnds> links;
  for (int rank = 0; rank < grid.ranks(); ++rank)
    for (const int other : grid.group(kind, rank)) {
      const Component link{.kind = Component::Kind::link, .rank = rank, .other = other, .group = kind};
      if (rank < other && is_used(link, grid, routes)) links.emplace_back(rank, other);
    }
  return links;
}

}  // namespace tenax::resilience
