// Communicator for devices whose memory the host cannot read, where no library moves it from device to device: through
// pinned host memory and whatever communicator ranks without such a device would use.
#pragma once

#include <functional>
#include <memory>

#include "comm/communicator.hpp"

namespace tenax::comm {

/// True where tensors of `device` have to be copied before other ranks can have them.
inline bool needs_staging(const kernels::Device& device) {
  return device.has_data() && !device.is_host_memory();
}

/// Results are those of the communicator that `make_host` makes, bit for bit; it is called once with a device of host
/// memory, which outlives what it made. An all_reduce blocks the host. The others make progress whenever one of the
/// communicator's transfers is asked for done(), wait() or order_before(); these wait with the host until the other ranks'
/// data is there, not for the copy back. `device` must outlive the communicator.
std::unique_ptr<Communicator> create_staged_communicator(
    kernels::Device& device, CommOptions options,
    const std::function<std::unique_ptr<Communicator>(kernels::Device&)>& make_host);

}  // namespace tenax::comm
