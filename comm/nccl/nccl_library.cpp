#include "comm/nccl/nccl_library.hpp"

#include <nccl.h>

#include <chrono>
#include <memory>
#include <system_error>

#include "comm/nccl.hpp"
#include "comm/worker.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {

void throw_nccl_error(ncclResult_t code, const char* call, const std::string& where) {
  const char* const detail = ncclGetLastError(nullptr);
  std::string text = std::string(call) + " failed at " + where + ": " + ncclGetErrorString(code);
  if (detail && *detail) text += std::string(" (") + detail + ")";
  throw kernels::Error(kernels::Scope::link, text);
}

namespace {

/// An error that is on its way to the user waits for this.
constexpr std::chrono::seconds kPatience{10};

}  // namespace

CommAbort::CommAbort(ncclComm_t nccl) {
  const auto end = std::make_shared<std::promise<void>>();
  ended_ = end->get_future();
  const auto run = [nccl, end] {
    ncclCommAbort(nccl);
    end->set_value();
  };
  try {
    thread_ = start_prompt_thread(run);
  } catch (const std::system_error&) {  // no thread is to be had
    run();
  }
}

CommAbort::~CommAbort() {
  if (!thread_.joinable()) return;
  if (ended_.wait_for(kPatience) == std::future_status::ready)
    thread_.join();
  else
    thread_.detach();
}

std::string nccl_version() {
  int code = NCCL_VERSION_CODE;
  ncclGetVersion(&code);
  return "NCCL " + std::to_string(code / 10000) + "." + std::to_string(code / 100 % 100) + "." +
         std::to_string(code % 100);
}

}  // namespace tenax::comm
