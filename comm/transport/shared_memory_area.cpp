#include "comm/transport/shared_memory_area.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <cassert>
#include <cerrno>

namespace tenax::comm {

std::shared_ptr<std::byte> map_shared(const FileDescriptor& file, std::size_t offset, std::size_t bytes) {
  void* const data =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), static_cast<off_t>(offset));
  if (data == MAP_FAILED) return nullptr;
  return {static_cast<std::byte*>(data), [bytes](std::byte* mapping) { munmap(mapping, bytes); }};
}

SharedMemoryArea::SharedMemoryArea(FileDescriptor memory, std::size_t begin, ConnectionEnd end)
    : memory_(std::move(memory)), begin_(begin), end_(end) {
  assert(begin % kPage == 0);
}

bool SharedMemoryArea::reserve(std::size_t offset, std::size_t bytes) const {
  assert(offset + bytes <= kBytes);
  int code = EINTR;  // by a signal: not for want of memory
  while (code == EINTR)
    code = posix_fallocate(memory_.get(), static_cast<off_t>(begin_ + offset), static_cast<off_t>(bytes));
  return code == 0;
}

std::shared_ptr<std::byte> SharedMemoryArea::map(std::size_t offset, std::size_t bytes) const {
  assert(offset % kPage == 0 && bytes > 0 && offset + bytes <= kBytes);
  return map_shared(memory_, begin_ + offset, bytes);
}

}  // namespace tenax::comm
