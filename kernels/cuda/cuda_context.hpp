// What the streams, events and memory of one CUDA device share.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/driver_calls.hpp"
#include "kernels/cuda/event_clock.hpp"

namespace tenax::kernels::cuda {

/// Kept alive by everything that was made with it. Thread rule: any thread.
class CudaContext {
 public:
  /// Makes the device current, and refuses one for which this build has no kernels.
  explicit CudaContext(int index);

  int index() const { return index_; }
  const std::string& name() const { return name_; }  ///< "cuda 0 (NVIDIA H200, 139 GiB)"
  std::size_t free_bytes() const;
  const DriverCalls& driver() const { return driver_; }
  EventClock& clock() { return clock_; }

  /// CUDA's current device belongs to the calling thread: each call that reaches CUDA begins with this
  /// (some 50 ns).
  void make_current() const;

  /// Device memory, its contents arbitrary. Throws Error(rank) naming the bytes asked for and those
  /// that are free.
  void* allocate(std::size_t bytes) const;
  void* allocate_pinned(std::size_t bytes) const;
  /// Waits for what all streams were given before, as cudaFree does, but not for ever: where a stream is not
  /// through within kRestLimit_s (it waits for a flag that nobody will set), memory stays allocated from then
  /// on; the process is about to end.
  void release(void* memory) noexcept;
  void release_pinned(void* memory) noexcept;
  /// Pins pages that somebody else allocated; false where driver or system refuse.
  bool pin(void* memory, std::size_t bytes) const;
  /// As release(); false where the pages stay pinned.
  bool unpin(void* memory) noexcept;

  /// Streams say when they begin and end, so that release() knows whom to wait for.
  void add(cudaStream_t stream);
  void remove(cudaStream_t stream) noexcept;

 private:
  bool streams_are_through() noexcept;

  static constexpr double kRestLimit_s = 5;
  int index_;
  std::string name_;
  DriverCalls driver_;
  EventClock clock_;
  std::mutex mutex_;
  std::map<cudaStream_t, OwnedEvent> mark_of_stream_;
  std::atomic<bool> given_up_ = false;
};

}  // namespace tenax::kernels::cuda
