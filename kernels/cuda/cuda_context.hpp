// What the streams, events and memory of one CUDA device share.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/driver_calls.hpp"
#include "kernels/cuda/event_clock.hpp"
#include "kernels/deferred_releases.hpp"

namespace tenax::kernels::cuda {

/// Kept alive by everything that was made with it. Thread rule: any thread.
class CudaContext {
 public:
  /// Makes the device current, and refuses one for which this build has no kernels.
  explicit CudaContext(int index);
  /// Waits for streams that use memory that was let go of, but not for ever.
  ~CudaContext();
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;

  int index() const { return index_; }
  const std::string& name() const { return name_; }  ///< "cuda 0 (NVIDIA H200, 139 GiB)"
  std::string uuid() const;                          ///< 32 hex digits; of a MIG slice its own
  struct Memory {
    std::size_t free_bytes = 0, total_bytes = 0;
  };
  Memory memory_info() const;
  const DriverCalls& driver() const { return driver_; }
  EventClock& clock() { return clock_; }

  /// CUDA's current device belongs to the calling thread: each call that reaches CUDA begins with this
  /// (some 50 ns).
  void make_current() const;

  /// Device memory, its contents arbitrary. Where there is none it waits for what was let go of, for some
  /// seconds. Throws Error(rank) naming the bytes asked for and those that are free.
  void* allocate(std::size_t bytes);
  void* allocate_pinned(std::size_t bytes);
  /// Never wait. CUDA frees memory only once the whole device is idle, and holds the caller up until then: so
  /// what a stream may still use (it may stand at a message until a failover ends that) is kept until
  /// reclaim() finds the streams past all that they were given before.
  void release(void* memory) noexcept;
  void release_pinned(void* memory) noexcept;
  /// Pins pages that somebody else allocated; false where driver or system refuse.
  bool pin(void* memory, std::size_t bytes);
  /// As release(): they are let go of then.
  void unpin(std::shared_ptr<std::byte> memory) noexcept;
  /// Frees what streams are through with. Not while one is captured, or busy: perhaps for ever, at a message whose
  /// sender is gone.
  void reclaim() noexcept;

  /// Streams say when they begin and end, so that release() knows whom to wait for.
  void add(cudaStream_t stream);
  void remove(cudaStream_t stream) noexcept;

 private:
  void defer(std::function<void()> free) noexcept;
  std::optional<std::vector<OwnedEvent>> marks_now();
  bool is_through(std::optional<std::vector<OwnedEvent>>& marks);
  bool is_idle();
  void await_idle();
  /// Tries once more where there was no memory but some is still to be given back.
  bool succeeds(const std::function<cudaError_t()>& allocate, cudaError_t& status);

  int index_;
  std::string name_;
  DriverCalls driver_;
  EventClock clock_;
  std::mutex mutex_;
  std::set<cudaStream_t> streams_;
  DeferredReleases releases_;
};

}  // namespace tenax::kernels::cuda
