// HostStream: the stream of host-side messages (control plane): nothing is ever enqueued on it.
#pragma once

#include "kernels/device.hpp"

namespace tenax::comm {

class HostStream final : public kernels::Stream {
 public:
  void record(kernels::Event&) override {}
  void wait(const kernels::Event&) override {}
  void synchronize(kernels::Deadline) override {}
};

}  // namespace tenax::comm
