#include "tests/kernels/async/stand_in_memory.hpp"

#include <sys/mman.h>

#include "kernels/error.hpp"

namespace tenax::kernels::test {

class StandInBuffer final : public Buffer {
 public:
  StandInBuffer(StandInMemory& owner, std::unique_ptr<Buffer> memory, void* address)
      : owner_(owner), memory_(std::move(memory)), address_(address) {}
  ~StandInBuffer() override {
    owner_.drain_();
    owner_.forget(address_);
    munmap(address_, memory_->bytes() + 1);
  }
  StandInBuffer(const StandInBuffer&) = delete;
  StandInBuffer& operator=(const StandInBuffer&) = delete;
  void* data() const override { return address_; }
  std::size_t bytes() const override { return memory_->bytes(); }

 private:
  StandInMemory& owner_;
  std::unique_ptr<Buffer> memory_;
  void* address_;
};

std::unique_ptr<Buffer> StandInMemory::allocate(std::size_t bytes) {
  auto memory = cpu_.allocate(bytes);
  void* const address =
      mmap(nullptr, bytes + 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) throw Error(Scope::rank, "stand-in: no address space");
  {
    const std::lock_guard lock(mutex_);
    ranges_[static_cast<std::byte*>(address)] = {bytes, static_cast<std::byte*>(memory->data())};
  }
  return std::make_unique<StandInBuffer>(*this, std::move(memory), address);
}

Tensor StandInMemory::behind(Tensor tensor) const {
  if (!tensor.data) return tensor;
  auto* const address = static_cast<std::byte*>(tensor.data);
  const std::lock_guard lock(mutex_);
  auto range = ranges_.upper_bound(address);
  if (range == ranges_.begin()) return tensor;
  --range;
  const auto offset = static_cast<std::size_t>(address - range->first);
  if (offset > range->second.bytes) return tensor;
  assert(offset + tensor.bytes() <= range->second.bytes);
  tensor.data = range->second.memory + offset;
  return tensor;
}

void StandInMemory::forget(void* address) {
  const std::lock_guard lock(mutex_);
  ranges_.erase(static_cast<std::byte*>(address));
}

}  // namespace tenax::kernels::test
