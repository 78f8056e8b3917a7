#include "comm/nccl/comm_abort.hpp"

#include <chrono>
#include <memory>
#include <system_error>

#include "comm/prompt_thread.hpp"

namespace tenax::comm {
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

}  // namespace tenax::comm
