// The one way NCCL is called, through TENAX_NCCL, which quotes a call that fails; and how a
// communicator that failed is ended.
#pragma once

#include <nccl.h>

#include <future>
#include <string>
#include <thread>

namespace tenax::comm {

/// "ncclGetUniqueId(&id) failed at <where>: <NCCL's own text>", as an Error(link).
[[noreturn]] void throw_nccl_error(ncclResult_t code, const char* call, const std::string& where);

/// A communicator that does not block returns ncclInProgress while it works in the background.
inline bool is_fault(ncclResult_t code) { return code != ncclSuccess && code != ncclInProgress; }

/// ncclCommAbort may take long: it waits until its kernels have left the device and its threads
/// have let go of the network. It runs in a thread of its own.
class CommAbort {
 public:
  /// Nobody uses `nccl` any more.
  explicit CommAbort(ncclComm_t nccl);
  /// Waits for the end, but not for ever: what then has not come back from a broken driver or
  /// network is left there.
  ~CommAbort();
  CommAbort(const CommAbort&) = delete;
  CommAbort& operator=(const CommAbort&) = delete;

 private:
  std::future<void> ended_;
  std::thread thread_;
};

}  // namespace tenax::comm

/// `where` is evaluated only on failure.
#define TENAX_NCCL(where, call)                                       \
  do {                                                                \
    const ncclResult_t tenax_nccl_code = (call);                      \
    if (::tenax::comm::is_fault(tenax_nccl_code))                     \
      ::tenax::comm::throw_nccl_error(tenax_nccl_code, #call, where); \
  } while (false)
