#include "tests/kernels/async/stand_in_memory.hpp"

#include <sys/mman.h>

#include <iterator>

#include "kernels/error.hpp"
#include "tests/kernels/async/file_buffer.hpp"

namespace tenax::kernels::test {

class StandInBuffer final : public Buffer {
 public:
  StandInBuffer(StandInMemory& owner, std::unique_ptr<FileBuffer> memory, void* address)
      : owner_(owner), memory_(std::move(memory)), address_(address) {
    owner_.count(MemoryKind::device, static_cast<std::ptrdiff_t>(bytes()));
  }
  ~StandInBuffer() override {
    owner_.let_go([&owner = owner_, memory = memory_, address = address_] {
      owner.count(MemoryKind::device, -static_cast<std::ptrdiff_t>(memory->bytes()));
      owner.forget(address);
      munmap(address, memory->bytes() + 1);
    });
  }
  StandInBuffer(const StandInBuffer&) = delete;
  StandInBuffer& operator=(const StandInBuffer&) = delete;
  void* data() const override { return address_; }
  std::size_t bytes() const override { return memory_->bytes(); }
  const FileBuffer& memory() const { return *memory_; }

 private:
  StandInMemory& owner_;
  std::shared_ptr<FileBuffer> memory_;
  void* address_;
};

/// Pinned: device and host have one address for it.
class ReachableBuffer final : public Buffer {
 public:
  ReachableBuffer(StandInMemory& owner, std::unique_ptr<Buffer> memory)
      : owner_(owner), memory_(std::move(memory)) {
    owner_.remember(memory_->data(), memory_->bytes(), memory_->data());
    owner_.count(MemoryKind::pinned_host, static_cast<std::ptrdiff_t>(bytes()));
  }
  ~ReachableBuffer() override {
    owner_.let_go([&owner = owner_, memory = memory_] {
      owner.count(MemoryKind::pinned_host, -static_cast<std::ptrdiff_t>(memory->bytes()));
      owner.forget(memory->data());
    });
  }
  ReachableBuffer(const ReachableBuffer&) = delete;
  ReachableBuffer& operator=(const ReachableBuffer&) = delete;
  void* data() const override { return memory_->data(); }
  std::size_t bytes() const override { return memory_->bytes(); }

 private:
  StandInMemory& owner_;
  std::shared_ptr<Buffer> memory_;
};

class ReachablePages final : public HostRegistration {
 public:
  ReachablePages(StandInMemory& owner, std::shared_ptr<std::byte> memory, std::size_t bytes)
      : owner_(owner), memory_(std::move(memory)) {
    owner_.remember(memory_.get(), bytes, memory_.get());
  }
  ~ReachablePages() override {
    owner_.let_go([&owner = owner_, memory = memory_] { owner.forget(memory.get()); });
  }
  ReachablePages(const ReachablePages&) = delete;
  ReachablePages& operator=(const ReachablePages&) = delete;

 private:
  StandInMemory& owner_;
  std::shared_ptr<std::byte> memory_;
};

std::unique_ptr<Buffer> StandInMemory::allocate_pinned(std::size_t bytes) {
  return std::make_unique<ReachableBuffer>(*this, cpu_.allocate(bytes, MemoryKind::pinned_host));
}

std::unique_ptr<HostRegistration> StandInMemory::register_host(std::shared_ptr<std::byte> memory,
                                                               std::size_t bytes) {
  return std::make_unique<ReachablePages>(*this, std::move(memory), bytes);
}

std::unique_ptr<Buffer> StandInMemory::allocate(std::size_t bytes) {
  auto memory = std::make_unique<FileBuffer>(bytes);
  void* const address =
      mmap(nullptr, bytes + 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) throw Error(Scope::rank, "stand-in: no address space");
  remember(address, bytes, memory->data());
  return std::make_unique<StandInBuffer>(*this, std::move(memory), address);
}

// Asked at once too: what no stream uses goes now.
void StandInMemory::let_go(std::function<void()> free) {
  releases_.add(mark_(), std::move(free));
  releases_.collect();
}

void StandInMemory::count(MemoryKind kind, std::ptrdiff_t bytes) {
  if (use_) (kind == MemoryKind::device ? use_->device : use_->pinned) += static_cast<std::size_t>(bytes);
}

int StandInMemory::export_memory(const Buffer& buffer) {
  return dynamic_cast<const StandInBuffer&>(buffer).memory().export_memory();
}

Tensor StandInMemory::behind(Tensor tensor) const {
  if (!tensor.data || tensor.bytes() == 0) return tensor;
  auto* const address = static_cast<std::byte*>(tensor.data);
  const std::lock_guard lock(mutex_);
  const auto above = ranges_.upper_bound(address);
  const auto range = above == ranges_.begin() ? ranges_.end() : std::prev(above);
  const std::size_t offset = range == ranges_.end() ? 0 : static_cast<std::size_t>(address - range->first);
  if (range == ranges_.end() || offset >= range->second.bytes)
    throw Error(Scope::rank, "stand-in: an operation on host memory that is neither pinned nor registered");
  assert(offset + tensor.bytes() <= range->second.bytes);
  tensor.data = range->second.memory + offset;
  return tensor;
}

void StandInMemory::remember(void* address, std::size_t bytes, void* memory) {
  const std::lock_guard lock(mutex_);
  ranges_[static_cast<std::byte*>(address)] = {bytes, static_cast<std::byte*>(memory)};
}

void StandInMemory::forget(void* address) {
  const std::lock_guard lock(mutex_);
  ranges_.erase(static_cast<std::byte*>(address));
}

}  // namespace tenax::kernels::test
