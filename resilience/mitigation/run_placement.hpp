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

}  // namespace tenax::resilience
