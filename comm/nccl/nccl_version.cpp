#include <nccl.h>

#include "comm/nccl.hpp"

namespace tenax::comm {

std::string nccl_version() {
  int code = NCCL_VERSION_CODE;
  ncclGetVersion(&code);
  return "NCCL " + std::to_string(code / 10000) + "." + std::to_string(code / 100 % 100) + "." +
         std::to_string(code % 100);
}

}  // namespace tenax::comm
