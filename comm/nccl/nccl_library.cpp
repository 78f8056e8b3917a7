#include "comm/nccl/nccl_library.hpp"

#include <nccl.h>

#include <chrono>
#include <cstdlib>
#include <memory>

#include "comm/nccl.hpp"
#include "comm/worker.hpp"
#include "kernels/error.hpp"
#include "kernels/shared_library.hpp"

namespace tenax::comm {

using kernels::LibraryVersion;

void throw_nccl_error(ncclResult_t code, const char* call, const std::string& where) {
  const char* const detail = ncclGetLastError(nullptr);
  std::string text = std::string(call) + " failed at " + where + ": " + ncclGetErrorString(code);
  if (detail && *detail) text += std::string(" (") + detail + ")";
  throw kernels::Error(kernels::Scope::link, text);
}

namespace {

/// Non-blocking communicators and the limit on their blocks came by then.
constexpr LibraryVersion kLeast{2, 19, 0};

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
  } catch (const kernels::Error&) {  // no thread is to be had
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

std::string nccl_version() { return "NCCL " + LibraryVersion::of_number(NCCL_VERSION_CODE).text(); }

std::string nccl_lack() {
  try {
    int code = 0;
    TENAX_NCCL("this rank", ncclGetVersion(&code));
    const auto found = LibraryVersion::of_number(code);
    return found < kLeast ? "has NCCL " + found.text() + ", and " + kLeast.text() + " or newer is needed"
                          : "";
  } catch (const kernels::Error& error) {
    return error.what();
  }
}

void pin_nccl_order() {
  constexpr int kKeepWhatIsThere = 0;
  setenv("NCCL_ALGO", "Ring", kKeepWhatIsThere);
  setenv("NCCL_PROTO", "Simple", kKeepWhatIsThere);
}

}  // namespace tenax::comm
