// Whether NCCL can serve a job, from where its ranks compute. Pure.
#pragma once

#include <string>
#include <vector>

namespace tenax::comm {

/// What NCCL tells one GPU of a job from another by. Where this rank has no GPU, or no NCCL, `lack` says so ("has no GPU")
/// and bus_id is empty.
struct GpuAddress {
  std::string host, bus_id, lack = {};
};

std::string to_text(const GpuAddress& address);
GpuAddress gpu_address_of_text(const std::string& text);

/// Why the ranks at `addresses` (in rank order) cannot use NCCL together; empty if they can.
std::string obstacle(const std::vector<GpuAddress>& addresses);

}  // namespace tenax::comm
