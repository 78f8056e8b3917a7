#include <cstdlib>

#include "comm/nccl.hpp"
#include "comm/nccl/shared_gpu.hpp"

namespace tenax::comm {

std::string nccl_obstacle(ControlGroup& job, const kernels::Device& device, const std::string& host) {
  const char* const host_id = std::getenv("NCCL_HOSTID");
  const std::string lack = device.kind() == kernels::DeviceKind::cuda ? nccl_lack() : "has no GPU";
  const GpuAddress mine{host_id ? host_id : host, lack.empty() ? device.bus_id() : "", lack};
  std::vector<GpuAddress> addresses;
  for (const std::string& text : job.all_gather(to_text(mine)))
    addresses.push_back(gpu_address_of_text(text));
  return obstacle(addresses);
}

}  // namespace tenax::comm
