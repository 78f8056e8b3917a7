#include "comm/buffers/device_staging.hpp"

#include <utility>

#include "comm/transport/socket.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

/// Of a device's memory: buffers of whole pages begin at one, and only such can be exported.
constexpr std::size_t kPage = std::size_t{2} << 20;

}  // namespace

DeviceStaging::DeviceStaging(kernels::Device& device, Transport* transport)
    : device_(device), transport_(transport) {
  if (!transport_) return;
  HostBuffer first = make(kPage);
  if (!first.registration) {
    transport_ = nullptr;
    return;
  }
  made_bytes_ = kPage;
  free_.push_back(std::move(first));
}

std::optional<HostBuffer> DeviceStaging::take(std::size_t bytes) {
  const std::size_t room = (bytes + kPage - 1) / kPage * kPage;
  if (bytes == 0 || !transport_) return std::nullopt;
  {
    const std::lock_guard lock(mutex_);
    const auto bytes_of = [](const HostBuffer& buffer) { return buffer.buffer->bytes(); };
    if (auto free = take_best_fit(free_, room, bytes_of)) return free;
  }
  if (room > kMost_bytes - made_bytes_) return std::nullopt;
  HostBuffer made = make(room);
  if (!made.registration) {
    transport_ = nullptr;
    unregistered_ = std::move(made);
    return std::nullopt;
  }
  made_bytes_ += room;
  return made;
}

/// Without a registration where it cannot be; without a buffer where the device is full.
HostBuffer DeviceStaging::make(std::size_t room) {
  HostBuffer made;
  made.is_on_device = true;
  try {
    made.buffer = device_.allocate(room);
    const FileDescriptor dma_buf(device_.export_memory(*made.buffer));
    if (dma_buf) made.registration = transport_->register_device_memory(made.memory(room), dma_buf.get());
  } catch (const kernels::Error&) {
    made.registration.reset();
  }
  return made;
}

void DeviceStaging::give_back(HostBuffer buffer) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(buffer));
}

}  // namespace tenax::comm
