#include "comm/nccl/shared_gpu.hpp"

#include <map>
#include <utility>

namespace tenax::comm {

// Bus ids have no spaces, hosts no line ends.
std::string to_text(const GpuAddress& address) {
  return address.bus_id + " " + address.host + "\n" + address.lack;
}

GpuAddress gpu_address_of_text(const std::string& text) {
  const std::size_t space = text.find(' ');
  const std::size_t line_end = text.find('\n', space);
  return {text.substr(space + 1, line_end - space - 1), text.substr(0, space), text.substr(line_end + 1)};
}

std::string obstacle(const std::vector<GpuAddress>& addresses) {
  std::map<std::pair<std::string, std::string>, std::size_t> rank_of_gpu;
  for (std::size_t rank = 0; rank < addresses.size(); ++rank) {
    const GpuAddress& address = addresses[rank];
    const std::string me = "rank " + std::to_string(rank);
    if (!address.lack.empty()) return me + " (" + address.host + ") " + address.lack;
    const auto [found, is_new] = rank_of_gpu.emplace(std::pair(address.host, address.bus_id), rank);
    if (!is_new)
      return "rank " + std::to_string(found->second) + " and " + me + " share the GPU " + address.bus_id +
             " of " + address.host;
  }
  return {};
}

}  // namespace tenax::comm
