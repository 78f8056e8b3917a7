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

HostStaging::Slot HostStaging::make(std::size_t room) {
  Slot slot;
  slot.buffer = device_.allocate(room, kernels::MemoryKind::pinned_host);
  if (!device_.is_asynchronous()) slot.stream = device_.create_stream();
  slot.copied = device_.create_event();
  return slot;
}

HostStaging::Slot HostStaging::take(std::size_t bytes) {
  const std::size_t room = room_for(bytes);
  {
    const std::lock_guard lock(mutex_);
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it)
      if (it->buffer->bytes() >= room && (best == free_.end() || it->buffer->bytes() < best->buffer->bytes()))
        best = it;
    if (best != free_.end()) {
      Slot slot = std::move(*best);
      free_.erase(best);
      return slot;
    }
  }
  return make(room);
}

void HostStaging::stock(std::size_t bytes, int count) {
  const std::size_t room = room_for(bytes);
  std::unique_lock lock(mutex_);
  auto missing = count - std::count_if(free_.begin(), free_.end(),
                                       [&](const Slot& slot) { return slot.buffer->bytes() >= room; });
  lock.unlock();
  for (; missing > 0; --missing) give_back(make(room));
}

void HostStaging::give_back(Slot slot) {
  assert(slot);
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(slot));
}

/// On a device without data the buffer may be shorter than the tensor says: nobody looks inside.
kernels::Tensor HostStaging::view(const Slot& slot, const kernels::Tensor& like) const {
  return {slot.buffer->data(), like.dtype, like.shape};
}

void HostStaging::copy_out(Slot& slot, const kernels::Tensor& source, const kernels::Event& ready,
                           kernels::Deadline deadline) {
  if (device_.has_data() && device_.is_host_memory()) {
    ready.wait(deadline);
    if (source.bytes() > 0) std::memcpy(slot.buffer->data(), source.data, source.bytes());
    return;
  }
  slot.stream->wait(ready);
  device_.kernels().copy(*slot.stream, source, view(slot, source));
  slot.stream->record(*slot.copied);
}

void HostStaging::copy_in(Slot& slot, const kernels::Tensor& destination, double arrived_s) {
  if (device_.has_data() && device_.is_host_memory()) {
    if (destination.bytes() > 0) std::memcpy(destination.data, slot.buffer->data(), destination.bytes());
    return;
  }
  slot.stream->input_arrived(arrived_s);
  device_.kernels().copy(*slot.stream, view(slot, destination), destination);
  slot.stream->record(*slot.copied);
}

double HostStaging::finish(Slot& slot, kernels::Deadline deadline) const {
  if (device_.has_data() && device_.is_host_memory()) return steady_now_s();
  slot.copied->wait(deadline);
  return slot.copied->time_s();
}

}  // namespace tenax::comm
