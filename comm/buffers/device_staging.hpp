// DeviceStaging: memory of a device through which messages leave without passing through its host.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

#include "comm/host_staging.hpp"

namespace tenax::comm {

/// Buffers of device memory that a transport's network cards read: registered once, kept for reuse. A tensor is copied
/// into one on the device, which is fast, so that its own memory need not be registered. They are few: what the
/// network has not carried yet waits in host memory.
///
/// Thread rule: take() from one thread, give_back() from any.
class DeviceStaging {
 public:
  static constexpr std::size_t kMost_bytes = std::size_t{64} << 20;

  /// Both must outlive it and its buffers. `transport` null: there are no such buffers. Tries with a first one whether
  /// there can be any: later, where a stream of the device may be held, none is freed, which waits for all of them.
  DeviceStaging(kernels::Device& device, Transport* transport);

  /// Nothing where all are in use, or where device, driver or transport cannot: then for ever.
  std::optional<HostBuffer> take(std::size_t bytes);
  void give_back(HostBuffer buffer);

 private:
  HostBuffer make(std::size_t room);

  kernels::Device& device_;
  Transport* transport_;  // null: it cannot
  std::size_t made_bytes_ = 0;
  std::mutex mutex_;
  std::vector<HostBuffer> free_;
  HostBuffer unregistered_;  // the one that could not be
};

}  // namespace tenax::comm
