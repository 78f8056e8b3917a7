// CommAbort: ends an NCCL communicator that failed, without making anybody wait for it.
#pragma once

#include <nccl.h>

#include <future>
#include <thread>

namespace tenax::comm {

/// ncclCommAbort may take long: it waits until its kernels have left the device and its threads have let go of the network.
/// It runs in a thread of its own.
class CommAbort {
 public:
  /// Nobody uses `nccl` any more.
  explicit CommAbort(ncclComm_t nccl);
  /// Waits for the end, but not for ever: what then has not come back from a broken driver or network is left there.
  ~CommAbort();
  CommAbort(const CommAbort&) = delete;
  CommAbort& operator=(const CommAbort&) = delete;

 private:
  std::future<void> ended_;
  std::thread thread_;
};

}  // namespace tenax::comm
