// RunPlacement: what strategies change of a run: who computes how much, and where.
#pragma once

#include <map>
#include <numeric>
#include <vector>

#include "parallel/layout/process_grid.hpp"

namespace tenax::resilience {

/// A data group, by the place of its ranks in the grid.
struct DataGroup {
  int tensor = 0, stage = 0;
  auto operator<=>(const DataGroup&) const = default;
};

/// As a run begins: even shares, rings in the order of data ranks, rank p at position p.
struct RunPlacement {
  std::vector<int> microbatches;                     ///< of each data rank
  std::map<DataGroup, std::vector<int>> ring_order;  ///< data ranks round a ring, of groups that differ
  std::vector<int> group_of_place;                   ///< tensor groups (PlacementTimes)
  bool operator==(const RunPlacement&) const = default;

  static RunPlacement at_launch(const parallel::GridShape& shape, int microbatches) {
    RunPlacement placement;
    placement.microbatches.assign(static_cast<std::size_t>(shape.data), microbatches);
    placement.group_of_place.resize(static_cast<std::size_t>(shape.data) *
                                    static_cast<std::size_t>(shape.pipeline));
    std::iota(placement.group_of_place.begin(), placement.group_of_place.end(), 0);
    return placement;
  }
};

/// In the order of data ranks where the group has none of its own.
inline std::vector<int> ring_of(const RunPlacement& placement, const DataGroup& group) {
  const auto own = placement.ring_order.find(group);
  if (own != placement.ring_order.end()) return own->second;
  std::vector<int> order(placement.microbatches.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace tenax::resilience
