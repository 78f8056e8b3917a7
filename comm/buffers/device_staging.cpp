#include "comm/buffers/device_staging.hpp"

#include <utility>

#include "comm/transport/socket.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

/// Of a device's memory: buffers of whole pages begin at one, and only such can be exported.
constexpr std::size_t kPage = std::size_t{2} << 20;

}  // namespace

std::optional<HostBuffer> DeviceStaging::take(std::size_t bytes) {
  const std::size_t room = (bytes + kPage - 1) / kPage * kPage;
  if (bytes == 0 || !transport_) return std::nullopt;
  {
    const std::lock_guard lock(mutex_);
    const auto bytes_of = [](const HostBuffer& buffer) { return buffer.buffer->bytes(); };
    if (auto free = take_best_fit(free_, room, bytes_of)) return free;
  }
  if (room > kMost_bytes - made_bytes_) return std::nullopt;
  std::optional<HostBuffer> made = make(room);
  if (!made) transport_ = nullptr;
  made_bytes_ += room;
  return made;
}

std::optional<HostBuffer> DeviceStaging::make(std::size_t room) try {
  HostBuffer made;
  made.is_on_device = true;
  made.buffer = device_.allocate(room);
  const FileDescriptor dma_buf(device_.export_memory(*made.buffer));
  if (dma_buf) made.registration = transport_->register_device_memory(made.memory(room), dma_buf.get());
  return made.registration ? std::optional(std::move(made)) : std::nullopt;
} catch (const kernels::Error&) {
  return std::nullopt;  // the device is full
}

void DeviceStaging::give_back(HostBuffer buffer) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(buffer));
}

}  // namespace tenax::comm
