// The order in which members go round their ring, where some are in other zones (racks, buildings).
#pragma once

#include <span>
#include <string>
#include <vector>

namespace tenax::resilience {

/// `zone_of[i]` is that of member i. Returns all members in an order whose ring (the last and the
/// first are neighbours, too) crosses from zone to zone as seldom as can be: once for each zone,
/// where there are several. Pure; members of a zone, and zones by their first member, keep the order
/// they had.
std::vector<std::size_t> zone_order(std::span<const std::string> zone_of);

/// How often the ring of these members, in this order, crosses from zone to zone.
int zone_crossings(std::span<const std::string> zone_of);

}  // namespace tenax::resilience
