#include "tests/kernels/async/file_buffer.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "kernels/error.hpp"

namespace tenax::kernels::test {

FileBuffer::FileBuffer(std::size_t bytes)
    : bytes_(bytes),
      descriptor_(memfd_create("stand-in", MFD_CLOEXEC)),
      data_(ftruncate(descriptor_, static_cast<off_t>(bytes + 1)) == 0
                ? mmap(nullptr, bytes + 1, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0)
                : MAP_FAILED) {
  if (data_ == MAP_FAILED)
    throw Error(Scope::rank, "stand-in: no " + std::to_string(bytes) + " bytes of memory");
}

FileBuffer::~FileBuffer() {
  munmap(data_, bytes_ + 1);
  close(descriptor_);
}

int FileBuffer::export_memory() const { return fcntl(descriptor_, F_DUPFD_CLOEXEC, 0); }

}  // namespace tenax::kernels::test
