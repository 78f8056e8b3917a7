#include "comm/transport/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "comm/failure.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

// Nobody can take pages away from under another process.

}  // namespace

std::shared_ptr<SharedMemory> SharedMemory::create(std::size_t bytes) {
  const auto fail = [&](int code) {
    throw kernels::Error(kernels::Scope::rank, "no " + std::to_string(bytes) + " bytes of shared memory on " +
                                                   this_host() + " (" + std::strerror(code) + ")");
  };
  FileDescriptor memory(memfd_create("tenax shared memory", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory) fail(errno);
  const std::size_t taken = std::max<std::size_t>(bytes, 1);
  if (const int code = posix_fallocate(memory.get(), 0, static_cast<off_t>(taken)); code != 0) fail(code);
  if (fcntl(memory.get(), F_ADD_SEALS, kSharedMemorySeals) != 0) fail(errno);
  void* const data = mmap(nullptr, taken, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (data == MAP_FAILED) fail(errno);
  return std::shared_ptr<SharedMemory>(new SharedMemory(std::move(memory), data, bytes));
}

std::shared_ptr<const SharedMemory> SharedMemory::map(FileDescriptor descriptor, const std::string& where) {
  struct stat status {};
  if (fstat(descriptor.get(), &status) != 0 || status.st_size <= 0 ||
      (fcntl(descriptor.get(), F_GET_SEALS) & kSharedMemorySeals) != kSharedMemorySeals)
    throw_link_error(where, "what came along is no memory that can be shared");
  const auto bytes = static_cast<std::size_t>(status.st_size);
  void* const data = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor.get(), 0);
  if (data == MAP_FAILED) throw_link_error(where, "cannot map its memory", errno);
  return std::shared_ptr<const SharedMemory>(new SharedMemory(std::move(descriptor), data, bytes));
}

SharedMemory::~SharedMemory() { munmap(data_, std::max<std::size_t>(bytes_, 1)); }

}  // namespace tenax::comm
