#include "comm/nccl/shared_gpu.hpp"

#include <map>
#include <utility>

namespace tenax::comm {

// Bus ids have no spaces.
std::string to_text(const GpuPlace& place) { return place.bus_id + " " + place.host; }

GpuPlace place_of_text(const std::string& text) {
  const std::size_t space = text.find(' ');
  return {text.substr(space + 1), text.substr(0, space)};
}

std::string obstacle(const std::vector<GpuPlace>& places) {
  std::map<std::pair<std::string, std::string>, std::size_t> rank_of_gpu;
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    const GpuPlace& place = places[rank];
    const std::string me = "rank " + std::to_string(rank);
    if (place.bus_id.empty()) return me + " (" + place.host + ") has no GPU with NCCL";
    const auto [found, is_new] = rank_of_gpu.emplace(std::pair(place.host, place.bus_id), rank);
    if (!is_new)
      return "rank " + std::to_string(found->second) + " and " + me + " share the GPU " + place.bus_id +
             " of " + place.host;
  }
  return {};
}

}  // namespace tenax::comm
