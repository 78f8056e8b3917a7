// A communicator of the fake NCCL, and what it does with calls.
#pragma once

#include <gtest/gtest.h>
#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/comm/nccl/fake_clique.hpp"
#include "tests/comm/nccl/fake_nccl.hpp"

namespace tenax::comm::fake_nccl {

/// One call: what it reads, what it makes of what the ranks bring, and where that goes.
struct Call {
  enum class Kind { send, receive, collective } kind = Kind::collective;
  int peer = -1;
  const void* source = nullptr;
  std::size_t source_bytes = 0;
  void* destination = nullptr;
  std::size_t destination_bytes = 0;
  std::function<Bytes(const std::vector<Bytes>&)> combine;
  int number = 0;
};

/// Pinned memory for what is on its way, for reuse: freed by streams themselves it would make them wait for each other.
class PinnedPool {
 public:
  using Memory = std::unique_ptr<kernels::Buffer>;
  Memory take(kernels::Device& device, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    ++taken_;
    const auto fits = std::find_if(free_.begin(), free_.end(),
                                   [&](const Memory& memory) { return memory->bytes() >= bytes; });
    if (fits == free_.end()) return device.allocate(bytes, kernels::MemoryKind::pinned_host);
    Memory memory = std::move(*fits);
    free_.erase(fits);
    return memory;
  }
  void give_back(Memory memory) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(memory));
    --taken_;
    is_back_.notify_all();
  }
  /// Waits until all is back: no memory outlives its device.
  void clear() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(is_back_.wait_for(lock, std::chrono::minutes(1), [this] { return taken_ == 0; }));
    free_.clear();
  }

 private:
  std::mutex mutex_;
  std::condition_variable is_back_;
  std::vector<Memory> free_;
  int taken_ = 0;
};

/// What a thread's communicators are made with.
struct Surroundings {
  kernels::Device* device = nullptr;
  PinnedPool pinned;
  std::atomic<Network> network = Network::healthy;
  std::atomic<bool> holds_aborts = false;
  std::atomic<int> aborts = 0;
  int max_blocks = 0;
};

}  // namespace tenax::comm::fake_nccl

/// Kept to the end of the process, so that late uses are seen.
struct ncclComm {
  std::shared_ptr<tenax::comm::fake_nccl::Clique> clique;
  std::shared_ptr<tenax::comm::fake_nccl::Surroundings> surroundings;
  int rank = 0;
  std::shared_ptr<std::atomic<bool>> aborted = std::make_shared<std::atomic<bool>>(false);
  bool is_connecting = false, is_finalizing = false, is_gone = false;
  int collectives = 0;
  std::map<int, int> sends, receives;  // so far, by peer
  std::vector<tenax::comm::fake_nccl::Call> pending;
  cudaStream_t stream = nullptr;
  int asked = 0;
};

namespace tenax::comm::fake_nccl {

/// Of the calling thread.
std::shared_ptr<Surroundings>& surroundings();
/// What NCCL says of `nccl`. Asked often enough, it enqueues what is pending.
ncclResult_t state_of(ncclComm& nccl);
/// What all ranks brought, added (or compared) rank after rank, rounded at every hop.
Bytes reduce(const std::vector<Bytes>& brought, ncclDataType_t type, ncclRedOp_t op);

}  // namespace tenax::comm::fake_nccl
