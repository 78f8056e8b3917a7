// Whether NCCL can serve a job, from where its ranks compute. Pure.
#pragma once

#include <string>
#include <vector>

namespace tenax::comm {

/// What NCCL tells one GPU of a job from another by. An empty bus_id: this rank has no GPU, or no NCCL.
struct GpuPlace {
  std::string host, bus_id;
};

std::string to_text(const GpuPlace& place);
GpuPlace place_of_text(const std::string& text);

/// Why the ranks at `places` (in rank order) cannot use NCCL together; empty if they can.
std::string obstacle(const std::vector<GpuPlace>& places);

}  // namespace tenax::comm
