// NCCL's functions for ranks that are threads and devices that are stand-ins, as far as comm/nccl uses them, and as
// unfriendly as the real ones:
//
// - Nothing has happened when a call returns: communicators do not block (refused otherwise), and what a group of calls
//   wants gets onto its stream while somebody asks ncclCommGetAsyncError. A communicator's first group stays in progress
//   until every rank has issued one.
// - A send ends with its receive; sums of bf16 are rounded at every hop.
// - A communicator that was aborted or destroyed must not be used again.
#pragma once

#include "kernels/device.hpp"

namespace tenax::comm::fake_nccl {

/// The calling thread's current device, on which its communicators are made. It must outlive their work.
void set_device(kernels::Device& device);

enum class Network { healthy, silent, faulty };
/// How the calling thread's communicators find the network: silent: what they are given hangs; faulty: NCCL says so too.
void set_network(Network network);

}  // namespace tenax::comm::fake_nccl
