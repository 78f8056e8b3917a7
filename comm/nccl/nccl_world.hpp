// NcclWorld: another world, whose collectives on a GPU's tensors are NCCL's.
#pragma once

#include <utility>

#include "comm/nccl.hpp"
#include "comm/world.hpp"

namespace tenax::comm {

/// Every rank must be able to use NCCL (nccl_obstacle).
class NcclWorld final : public ForwardingWorld {
 public:
  /// Before the process's first communicator.
  NcclWorld(World& inner, CommOptions options, NcclUse use)
      : ForwardingWorld(inner, options), use_(std::move(use)) {
    if (use_.keeps_order) pin_nccl_order();
  }

  std::unique_ptr<Communicator> split_communicator(const std::string& name, int color, int key,
                                                   kernels::Device& device) override {
    auto endpoint = inner_.split_endpoint(color, key);
    if (endpoint->size() == 1) return create_link_communicator(name, std::move(endpoint), device, options_);
    return create_nccl_communicator(name, std::move(endpoint), device,
                                    {options_.deadline_s, options_.deadline_s},
                                    use_.overlapping.contains(name));
  }
  std::unique_ptr<Endpoint> split_direct_endpoint(int color, int key, const std::vector<int>& neighbours,
                                                  kernels::Device& device, LinkDeadlines deadlines) override {
    return create_nccl_endpoint(inner_.split_endpoint(color, key), neighbours, device,
                                {deadlines.message_s, deadlines.building_s});
  }

 private:
  const NcclUse use_;
};

}  // namespace tenax::comm
