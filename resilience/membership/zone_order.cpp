#include "resilience/membership/zone_order.hpp"

#include <algorithm>

namespace tenax::resilience {

// Each zone must be entered at least once, and is here once.
std::vector<std::size_t> zone_order(std::span<const std::string> zone_of) {
  std::vector<std::size_t> order;
  for (std::size_t first = 0; first < zone_of.size(); ++first) {
    const std::string& zone = zone_of[first];
    if (std::find(zone_of.begin(), zone_of.begin() + static_cast<std::ptrdiff_t>(first), zone) !=
        zone_of.begin() + static_cast<std::ptrdiff_t>(first))
      continue;
    for (std::size_t member = first; member < zone_of.size(); ++member)
      if (zone_of[member] == zone) order.push_back(member);
  }
  return order;
}

int zone_crossings(std::span<const std::string> zone_of) {
  int crossings = 0;
  for (std::size_t member = 0; member < zone_of.size(); ++member)
    if (zone_of[member] != zone_of[(member + 1) % zone_of.size()]) ++crossings;
  return crossings;
}

}  // namespace tenax::resilience
