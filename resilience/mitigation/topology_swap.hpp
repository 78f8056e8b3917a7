// TopologySwap: which tensor groups to exchange in the grid, so that slow links carry little and
// slow ranks hold up few (Greyhound, section 5.2, strategy S3). Pure.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "resilience/mitigation/placement_times.hpp"

namespace tenax::resilience {

struct TopologySwap {
  std::vector<int> group_of_place;
  double iteration_s = 0;  ///< predicted
};

/// From where `placement` stands: of all exchanges of a suspect with another group the one that
/// makes an iteration shortest, and so on while it wins. No rules are needed beside the times that
/// `placement` predicts: a slow link leaves the data groups for the pipelines where these wait less
/// for it, and slow ranks the pipelines that hold several of them and the stages with more work.
/// `suspects`: groups with a slow rank or an end of a slow link. `may_exchange(suspect, other)`
/// says which exchanges are meant to help (leaves_cause_by_swap()).
///
/// Of equal exchanges the first suspect's, with the lowest place. None if none makes an iteration
/// shorter. It need not be the best of all permutations: each exchange must win by itself.
std::optional<TopologySwap> find_topology_swap(PlacementTimes placement, std::span<const int> suspects,
                                               const std::function<bool(int, int)>& may_exchange);

/// The permutation for ProcessGrid: tensor groups move whole. Group g is the ranks of place g in a
/// grid that was not permuted.
std::vector<int> rank_of_position(std::span<const int> group_of_place, int tensor);

}  // namespace tenax::resilience
