#include "comm/buffers/shared_buffer_pool.hpp"

#include <cassert>
#include <new>

#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

constexpr std::size_t kPage = SharedMemoryArea::kPage;
constexpr std::size_t kTable = (sizeof(BufferDirectory::Memory) + kPage - 1) / kPage * kPage;
constexpr std::size_t kLeast = 4096;  // less is copied faster than agreed on

/// Pages of a shared buffer as a host buffer's buffer.
class SharedBuffer final : public kernels::Buffer {
 public:
  SharedBuffer(std::shared_ptr<std::byte> memory, std::size_t bytes)
      : memory_(std::move(memory)), bytes_(bytes) {}
  void* data() const override { return memory_.get(); }
  std::size_t bytes() const override { return bytes_; }

 private:
  std::shared_ptr<std::byte> memory_;
  std::size_t bytes_;
};

}  // namespace

/// The table is zeros at first, which is what its atomics begin with.
SharedBufferPool::Opened::Opened(kernels::Device& device, int end,
                                 const std::shared_ptr<SharedMemoryArea>& area,
                                 std::shared_ptr<std::byte> table_memory)
    : table(std::move(table_memory)),
      directory(*std::launder(reinterpret_cast<BufferDirectory::Memory*>(table.get())), end),
      mapper(device, area, kTable, directory) {}

void SharedBufferPool::open(std::shared_ptr<SharedMemoryArea> area) {
  assert(!owner_ && end_ == (area->end() == ConnectionEnd::connecting ? 0 : 1));
  std::shared_ptr<std::byte> table = area->reserve(0, kTable) ? area->map(0, kTable) : nullptr;
  if (!table) throw kernels::Error(kernels::Scope::link, "no memory for the directory of shared buffers");
  owner_ = std::make_unique<Opened>(device_, end_, area, std::move(table));
  opened_.store(owner_.get(), std::memory_order_release);
  owner_->directory.open();  // last: from now on the peer may send what lies in a shared buffer
}

HostBuffer SharedBufferPool::buffer_for(const MessageKey& key, std::size_t bytes) {
  Opened* const open = opened();
  if (!open || bytes < kLeast || !open->directory.is_open_at_both_ends()) return {};
  if (const auto theirs = open->directory.offered_by_peer(key))
    return accept_offered(*open, key, *theirs, bytes);
  collect_released(*open);
  const auto own = open->mapper.take(bytes);
  if (!own) return {};
  if (open->directory.offer(key, *own)) return view_of(*open, key, *own);
  open->mapper.give_back(*own);
  const auto theirs = open->directory.offered_by_peer(key);
  return theirs ? accept_offered(*open, key, *theirs, bytes) : HostBuffer{};
}

/// A buffer of another size belongs to a mistake, which the receiver reports.
HostBuffer SharedBufferPool::accept_offered(Opened& open, const MessageKey& key, SharedBufferId buffer,
                                            std::size_t bytes) {
  if (!open.mapper.register_for_device(buffer) || open.mapper.bytes(buffer) < bytes) return {};
  return open.directory.accept(key, buffer) ? view_of(open, key, buffer) : HostBuffer{};
}

HostBuffer SharedBufferPool::view_of(Opened& open, const MessageKey& key, SharedBufferId buffer) {
  BufferDirectory::Row& row = open.directory.row(buffer);
  if (key.sender == end_) row.filled.store(0);
  HostBuffer host_buffer;
  host_buffer.buffer = std::make_unique<SharedBuffer>(open.mapper.map(buffer), open.mapper.bytes(buffer));
  host_buffer.shared_id = buffer.code();
  return host_buffer;
}

void SharedBufferPool::release_sent(const MessageKey& key, SharedBufferId buffer) {
  if (buffer.end != end_) return;
  Opened& open = *opened();
  if (open.directory.cancel(key, buffer) || open.directory.is_released(key, buffer))
    return open.mapper.give_back(buffer);
  const std::lock_guard lock(mutex_);
  released_.push_back({key, buffer});
}

void SharedBufferPool::release_received(const MessageKey& key, SharedBufferId buffer, bool has_arrived) {
  Opened& open = *opened();
  const bool is_own = buffer.end == end_, is_free = is_own && open.directory.cancel(key, buffer);
  if (!is_free && has_arrived) open.directory.release(key, buffer);
  if (is_own && (is_free || has_arrived)) open.mapper.give_back(buffer);
}

void SharedBufferPool::retain(const MessageKey& key, SharedBufferId buffer) {
  if (buffer.end != end_ && !opened()->directory.accept(key, buffer))
    throw kernels::Error(kernels::Scope::link,
                         "the peer sent a message in a shared buffer that it does not offer for it");
}

std::shared_ptr<std::byte> SharedBufferPool::memory(SharedBufferId buffer, std::size_t bytes) {
  BufferMapper& mapper = opened()->mapper;
  std::shared_ptr<std::byte> memory = mapper.map(buffer);
  if (!memory)
    throw kernels::Error(kernels::Scope::link,
                         "cannot map memory shared with the peer; use comm.transport = \"tcp\"");
  if (mapper.bytes(buffer) < bytes)
    throw kernels::Error(kernels::Scope::link, "the peer sent a message in a shared buffer that is smaller");
  return memory;
}

void SharedBufferPool::collect_released(Opened& open) {
  const std::lock_guard lock(mutex_);
  std::erase_if(released_, [&](const Released& released) {
    const bool is_free = open.directory.is_released(released.key, released.buffer);
    if (is_free) open.mapper.give_back(released.buffer);
    return is_free;
  });
}

void SharedBufferPool::fill(SharedBufferId buffer, std::size_t bytes) {
  BufferDirectory::Row& row = opened()->directory.row(buffer);
  row.filled.store(bytes);
  row.filling.notify();
}

FutexEvent::Outcome SharedBufferPool::await(SharedBufferId buffer, std::size_t bytes,
                                            const std::function<bool()>& is_over,
                                            kernels::Deadline deadline) {
  BufferDirectory::Row& row = opened()->directory.row(buffer);
  return row.filling.wait([&] { return row.filled.load() >= bytes; }, is_over, deadline);
}

}  // namespace tenax::comm
