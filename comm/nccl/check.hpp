// The one way NCCL is called: every call through TENAX_NCCL, which quotes the call when it fails.
#pragma once

#include <nccl.h>

#include <string>

namespace tenax::comm {

/// "ncclGetUniqueId(&id) failed at <where>: <NCCL's own text>", as an Error(link).
[[noreturn]] void throw_nccl_error(ncclResult_t code, const char* call, const std::string& where);

/// Of a communicator that does not block: work goes on in the background.
inline bool is_fault(ncclResult_t code) { return code != ncclSuccess && code != ncclInProgress; }

}  // namespace tenax::comm

/// `where` is evaluated only on failure.
#define TENAX_NCCL(where, call)                                       \
  do {                                                                \
    const ncclResult_t tenax_nccl_code = (call);                      \
    if (::tenax::comm::is_fault(tenax_nccl_code))                     \
      ::tenax::comm::throw_nccl_error(tenax_nccl_code, #call, where); \
  } while (false)
