// Whether NCCL can serve a job, from where its ranks compute. Pure.
#pragma once

#include <string>
#include <vector>

namespace tenax::comm {

/// What NCCL tells one GPU of a job from another by. An empty bus_id: this rank has no GPU, or no
/// NCCL.
struct GpuAddress {
  std::string host, bus_id;
};

std::string to_text(const GpuAddress& address);
GpuAddress gpu_address_of_text(const std::string& text);

/// Why the ranks at `addresses` (in rank order) cannot use NCCL together; empty if they can.
std::string obstacle(const std::vector<GpuAddress>& addresses);

}  // namespace tenax::comm
