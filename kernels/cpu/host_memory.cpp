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

class SmallBuffer final : public Buffer {
 public:
  explicit SmallBuffer(std::size_t bytes) : bytes_(bytes) {
    const std::size_t room = round_up(bytes ? bytes : 1, kCacheLine);  // even an empty buffer has an address
    data_ = std::aligned_alloc(kCacheLine, room);
    if (!data_) fail(bytes, std::strerror(errno));
    std::memset(data_, 0, room);
  }
  ~SmallBuffer() override { std::free(data_); }
  SmallBuffer(const SmallBuffer&) = delete;
  SmallBuffer& operator=(const SmallBuffer&) = delete;
  void* data() const override { return data_; }
  std::size_t bytes() const override { return bytes_; }

 private:
  void* data_;
  std::size_t bytes_;
};

class MappedBuffer final : public Buffer {
 public:
  explicit MappedBuffer(std::size_t bytes) : bytes_(bytes), mapped_(round_up(bytes, kHugePage)) {
    // One huge page more than needed, of which the ends before and after the aligned part go back.
    void* const raw =
        mmap(nullptr, mapped_ + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) fail(bytes, std::strerror(errno));
    const auto begin = reinterpret_cast<std::uintptr_t>(raw);
    const std::uintptr_t aligned = round_up(begin, kHugePage);
    if (aligned > begin) munmap(raw, aligned - begin);
    data_ = reinterpret_cast<void*>(aligned);
    if (const std::size_t tail = begin + kHugePage - aligned; tail > 0)
      munmap(static_cast<std::byte*>(data_) + mapped_, tail);
    madvise(data_, mapped_, MADV_HUGEPAGE);  // only an advice: without it the buffer works all the same
  }
  ~MappedBuffer() override { munmap(data_, mapped_); }
  MappedBuffer(const MappedBuffer&) = delete;
  MappedBuffer& operator=(const MappedBuffer&) = delete;
  void* data() const override { return data_; }
  std::size_t bytes() const override { return bytes_; }

 private:
  std::size_t bytes_, mapped_;
  void* data_;
};

}  // namespace

std::unique_ptr<Buffer> allocate_host_memory(std::size_t bytes, std::size_t limit_bytes) {
  if (bytes > limit_bytes) fail(bytes, "this host has " + std::to_string(limit_bytes));
  if (bytes >= kHugePage) return std::make_unique<MappedBuffer>(bytes);
  return std::make_unique<SmallBuffer>(bytes);
}

}  // namespace tenax::kernels
