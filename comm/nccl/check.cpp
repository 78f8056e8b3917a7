#include "comm/nccl/check.hpp"

#include "kernels/error.hpp"

namespace tenax::comm {

void throw_nccl_error(ncclResult_t code, const char* call, const std::string& where) {
  const char* const detail = ncclGetLastError(nullptr);
  std::string text = std::string(call) + " failed at " + where + ": " + ncclGetErrorString(code);
  if (detail && *detail) text += std::string(" (") + detail + ")";
  throw kernels::Error(kernels::Scope::link, text);
}

}  // namespace tenax::comm
