#include "kernels/cpu/host_memory.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "kernels/error.hpp"

namespace tenax::kernels {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

[[noreturn]] void fail(std::size_t bytes, const std::string& why) {
  throw Error(Scope::rank, "cannot allocate " + std::to_string(bytes) + " bytes of host memory: " + why +
                               "; use more ranks, or a smaller model or batch");
}

using Memory = std::shared_ptr<void>;

Memory small_block(std::size_t bytes) {
  const std::size_t room = round_up(bytes ? bytes : 1, kCacheLine);  // even an empty buffer has an address
  void* const data = std::aligned_alloc(kCacheLine, room);
  if (!data) fail(bytes, std::strerror(errno));
  return {std::memset(data, 0, room), std::free};
}

Memory mapped_block(std::size_t bytes) {
  const std::size_t mapped = round_up(bytes, kHugePage);
  // One huge page more than needed, of which the ends before and after the aligned part go back.
  void* const raw =
      mmap(nullptr, mapped + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) fail(bytes, std::strerror(errno));
  const auto begin = reinterpret_cast<std::uintptr_t>(raw);
  const std::uintptr_t aligned = round_up(begin, kHugePage);
  if (aligned > begin) munmap(raw, aligned - begin);
  void* const data = reinterpret_cast<void*>(aligned);
  if (const std::size_t tail = begin + kHugePage - aligned; tail > 0)
    munmap(static_cast<std::byte*>(data) + mapped, tail);
  madvise(data, mapped, MADV_HUGEPAGE);  // only an advice: without it the buffer works all the same
  return {data, [mapped](void* memory) { munmap(memory, mapped); }};
}

class HostBuffer final : public Buffer {
 public:
  HostBuffer(Memory memory, std::size_t bytes) : memory_(std::move(memory)), bytes_(bytes) {}
  void* data() const override { return memory_.get(); }
  std::size_t bytes() const override { return bytes_; }

 private:
  Memory memory_;
  std::size_t bytes_;
};

}  // namespace

std::unique_ptr<Buffer> allocate_host_memory(std::size_t bytes, std::size_t limit_bytes) {
  if (bytes > limit_bytes) fail(bytes, "this host has " + std::to_string(limit_bytes));
  return std::make_unique<HostBuffer>(bytes >= kHugePage ? mapped_block(bytes) : small_block(bytes), bytes);
}

}  // namespace tenax::kernels
