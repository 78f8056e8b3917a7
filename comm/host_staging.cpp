#include "comm/host_staging.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "kernels/kernels.hpp"

namespace tenax::comm {
namespace {

constexpr std::size_t kPage = 4096;

std::size_t whole_pages(std::size_t bytes) {
  return std::max<std::size_t>(1, (bytes + kPage - 1) / kPage) * kPage;
}

}  // namespace

std::size_t HostStaging::room_for(std::size_t bytes) const {
  return device_.has_data() ? whole_pages(bytes) : kPage;
}

HostBuffer HostStaging::make(std::size_t room) {
  HostBuffer host_buffer;
  host_buffer.buffer = device_.allocate(room, kernels::MemoryKind::pinned_host);
  if (transport_) host_buffer.registration = transport_->register_memory(host_buffer.memory(room));
  if (!device_.is_asynchronous()) host_buffer.stream = device_.create_stream();
  host_buffer.copied = device_.create_event();
  return host_buffer;
}

HostBuffer HostStaging::take(std::size_t bytes) {
  const std::size_t room = room_for(bytes);
  {
    const std::lock_guard lock(mutex_);
    const auto bytes_of = [](const HostBuffer& host_buffer) { return host_buffer.buffer->bytes(); };
    if (auto free = take_best_fit(free_, room, bytes_of)) return std::move(*free);
  }
  return make(room);
}

void HostStaging::stock(std::size_t bytes, int count) {
  const std::size_t room = room_for(bytes);
  std::unique_lock lock(mutex_);
  auto missing = count - std::count_if(free_.begin(), free_.end(), [&](const HostBuffer& host_buffer) {
                   return host_buffer.buffer->bytes() >= room;
                 });
  lock.unlock();
  for (; missing > 0; --missing) give_back(make(room));
}

void HostStaging::give_back(HostBuffer host_buffer) {
  assert(host_buffer);
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(host_buffer));
}

/// On a device without data the buffer may be shorter than the tensor says: nobody looks inside.
kernels::Tensor HostStaging::view(const HostBuffer& host_buffer, const kernels::Tensor& like) const {
  return {host_buffer.buffer->data(), like.dtype, like.shape};
}

void HostStaging::copy_out(HostBuffer& host_buffer, const kernels::Tensor& source,
                           const kernels::Event& ready) {
  host_buffer.stream->wait(ready);
  device_.kernels().copy(*host_buffer.stream, source, view(host_buffer, source));
  host_buffer.stream->record(*host_buffer.copied);
}

void HostStaging::copy_in(HostBuffer& host_buffer, const kernels::Tensor& destination, double arrived_s) {
  if (device_.has_data() && device_.is_host_memory()) {
    if (destination.bytes() > 0)
      std::memcpy(destination.data, host_buffer.buffer->data(), destination.bytes());
    return;
  }
  host_buffer.stream->input_arrived(arrived_s);
  device_.kernels().copy(*host_buffer.stream, view(host_buffer, destination), destination);
  host_buffer.stream->record(*host_buffer.copied);
}

double HostStaging::finish(HostBuffer& host_buffer, kernels::Deadline deadline) const {
  if (device_.has_data() && device_.is_host_memory()) return steady_now_s();
  host_buffer.copied->wait(deadline);
  return host_buffer.copied->time_s();
}

}  // namespace tenax::comm
