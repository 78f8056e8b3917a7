// Memory of the stand-in: addresses of the device that nobody may touch, the memory that is meant by them, and what of the
// host's memory the device may touch.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "kernels/deferred_releases.hpp"
#include "kernels/device.hpp"
#include "tests/kernels/async/stand_in.hpp"

namespace tenax::kernels::test {

class StandInMemory {
 public:
  /// Asked when memory is let go of: what tells from then on whether the streams are past all that they had been given.
  using Mark = std::function<std::function<bool()>()>;

  /// `cpu` gives the memory behind. All outlive what is allocated; `use` may be null.
  StandInMemory(Device& cpu, Mark mark, StandInUse* use) : cpu_(cpu), mark_(std::move(mark)), use_(use) {}
  ~StandInMemory() { releases_.collect(); }
  StandInMemory(const StandInMemory&) = delete;
  StandInMemory& operator=(const StandInMemory&) = delete;

  std::unique_ptr<Buffer> allocate(std::size_t bytes);
  std::unique_ptr<Buffer> allocate_pinned(std::size_t bytes);
  std::unique_ptr<HostRegistration> register_host(std::shared_ptr<std::byte> memory, std::size_t bytes);
  /// Device::reclaim_memory.
  void reclaim() { releases_.collect(); }
  /// Of a buffer from allocate().
  static int export_memory(const Buffer& buffer);
  /// The tensor that the host may touch; pinned and registered memory is returned as it is. Any other throws Error(rank):
  /// a GPU cannot reach it, or the launching thread would wait for the copy.
  Tensor behind(Tensor tensor) const;

 private:
  friend class StandInBuffer;
  friend class ReachableBuffer;
  friend class ReachablePages;
  struct Range {
    std::size_t bytes = 0;
    std::byte* memory = nullptr;
  };
  void remember(void* address, std::size_t bytes, void* memory);
  void forget(void* address);
  /// `free` is called once streams are through.
  void let_go(std::function<void()> free);
  void count(MemoryKind kind, std::ptrdiff_t bytes);

  Device& cpu_;
  Mark mark_;
  StandInUse* use_;
  DeferredReleases releases_;
  mutable std::mutex mutex_;
  std::map<std::byte*, Range> ranges_;  // by address
};

}  // namespace tenax::kernels::test
