// Memory of the stand-in: addresses of the device that nobody may touch, the memory that is meant by them, and what of the
// host's memory the device may touch.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "kernels/device.hpp"

namespace tenax::kernels::test {

class StandInMemory {
 public:
  /// `cpu` gives the memory behind; `drain` is called before memory is freed. Both outlive what is allocated.
  StandInMemory(Device& cpu, std::function<void()> drain) : cpu_(cpu), drain_(std::move(drain)) {}

  std::unique_ptr<Buffer> allocate(std::size_t bytes);
  std::unique_ptr<Buffer> allocate_pinned(std::size_t bytes);
  std::unique_ptr<HostRegistration> register_host(std::shared_ptr<std::byte> memory, std::size_t bytes);
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

  Device& cpu_;
  std::function<void()> drain_;
  mutable std::mutex mutex_;
  std::map<std::byte*, Range> ranges_;  // by address
};

}  // namespace tenax::kernels::test
