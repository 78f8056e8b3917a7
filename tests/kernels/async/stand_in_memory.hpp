// Device memory of the stand-in: addresses that nobody may touch, and the memory that is meant by them.
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
  /// The tensor that the host may touch; pinned memory is returned as it is.
  Tensor behind(Tensor tensor) const;

 private:
  friend class StandInBuffer;
  struct Range {
    std::size_t bytes = 0;
    std::byte* memory = nullptr;
  };
  void forget(void* address);

  Device& cpu_;
  std::function<void()> drain_;
  mutable std::mutex mutex_;
  std::map<std::byte*, Range> ranges_;  // by address
};

}  // namespace tenax::kernels::test
