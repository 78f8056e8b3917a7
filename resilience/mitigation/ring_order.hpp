// The order in which the members of a group go round a ring, so that no slow link is used. Pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "resilience/diagnosis/probe_rounds.hpp"

namespace tenax::resilience {

/// `order` without two neighbours that `slow` names (the last and the first are neighbours, too),
/// with as few new neighbours as can be; it begins as `order` does. `slow` holds pairs of members.
/// The same arguments give the same order: of several, one that cuts the old ring nearest to its
/// begin.
///
/// None where every ring uses a slow link: with three members, or where one has fewer than two links
/// left. Whether a set leaves a ring is Hamilton's problem: the search gives up after 100 000 trials.
/// In all sets of the tests that leave every member half of its links it finds one.
std::optional<std::vector<int>> ring_order_without(std::span<const RankPair> slow, std::vector<int> order);

}  // namespace tenax::resilience
