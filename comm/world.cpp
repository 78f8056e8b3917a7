#include "comm/world.hpp"

#include "comm/staged/staged.hpp"

namespace tenax::comm {

std::unique_ptr<Endpoint> World::split_direct_endpoint(int color, int key, const std::vector<int>&,
                                                       kernels::Device& device, LinkDeadlines deadlines) {
  auto endpoint = split_endpoint(color, key);
  if (!needs_staging(device)) return endpoint;
  return create_staged_endpoint(std::move(endpoint), device, {deadlines.message_s});
}

}  // namespace tenax::comm
