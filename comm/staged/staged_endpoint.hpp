// Links between devices whose memory the host cannot read: messages pass through pinned host memory and the links of
// another endpoint (MPI's).
#pragma once

#include <memory>

#include "comm/communicator.hpp"

namespace tenax::comm {

/// A send copies its tensor out once its stream gets there, then sends the copy, from a thread of the link's: nothing of
/// it waits for the thread that called. A receive is posted into host memory at the call and copied in, after what its
/// stream had been given then, when one asks for done(), wait() or order_before() and the message is there;
/// order_before() waits with the host for the message, but not for that copy. `inner` is used by one thread at a time.
/// `device` must outlive the endpoint.
std::unique_ptr<Endpoint> create_staged_endpoint(std::unique_ptr<Endpoint> inner, kernels::Device& device,
                                                 CommOptions options);

}  // namespace tenax::comm
