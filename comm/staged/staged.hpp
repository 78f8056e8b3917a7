// Links and collectives for devices whose memory the host cannot read, where no library moves it
// from device to device: both pass through pinned host memory.
#pragma once

#include <functional>
#include <memory>

#include "comm/communicator.hpp"

namespace tenax::comm {

/// A send copies its tensor out once its stream gets there, then sends the copy, from a thread of
/// the link's: nothing of it waits for the thread that called. A receive is posted into host memory
/// at the call and copied in, after what its stream had been given then, when one asks for done(),
/// wait() or order_before() and the message is there; order_before() waits with the host for the
/// message, but not for that copy. `inner` is used by one thread at a time. `device` must outlive
/// the endpoint.
std::unique_ptr<Endpoint> create_staged_endpoint(std::unique_ptr<Endpoint> inner, kernels::Device& device,
                                                 CommOptions options);

/// True where tensors of `device` have to be copied before other ranks can have them.
inline bool needs_staging(const kernels::Device& device) {
  return device.has_data() && !device.is_host_memory();
}

/// Results are those of the communicator that `make_host` makes, bit for bit; it is called once
/// with a device of host memory, which outlives what it made. An all_reduce blocks the host. The
/// others make progress whenever one of the communicator's transfers is asked for done(), wait() or
/// order_before(); these wait with the host until the other ranks' data is there, not for the copy
/// back. `device` must outlive the communicator.
std::unique_ptr<Communicator> create_staged_communicator(
    kernels::Device& device, CommOptions options,
    const std::function<std::unique_ptr<Communicator>(kernels::Device&)>& make_host);

}  // namespace tenax::comm
