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

/// While it lives, `device` is the calling thread's current one, on which its communicators are made. It outlives their
/// work.
class OnDevice {
 public:
  explicit OnDevice(kernels::Device& device);
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
};

enum class Network { healthy, silent, faulty, broken };
/// How the calling thread's communicators find the network: silent: what they are given hangs; faulty: NCCL says so too;
/// broken: it hangs, and NCCL's own call to ask about it fails, as on a device that has failed.
void set_network(Network network);

/// How many blocks the last communicator of the calling thread may have at most.
int max_blocks();

/// What ncclGetVersion says from now on.
void set_version(int code);

/// While it lives, aborts of the calling thread's communicators end their work, but do not return.
class HeldAborts {
 public:
  HeldAborts();
  ~HeldAborts();
  HeldAborts(const HeldAborts&) = delete;
  HeldAborts& operator=(const HeldAborts&) = delete;
  /// An abort has been called.
  static bool any();
};

}  // namespace tenax::comm::fake_nccl
