#include "io/tokens_map.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "kernels/error.hpp"

namespace tenax::io {
namespace {

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& what) {
  throw kernels::Error(kernels::Scope::rank, "token file " + file.string() + ": " + what);
}

std::string reason(int error) { return std::generic_category().message(error); }

}  // namespace

FileMap::FileMap(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail(file, "cannot open: " + reason(errno));
  struct stat info {};
  const bool is_known = ::fstat(descriptor, &info) == 0;
  const auto size = static_cast<std::size_t>(info.st_size);
  void* start = MAP_FAILED;
  int error = is_known ? 0 : errno;
  if (is_known && S_ISREG(info.st_mode) && size > 0) {
    start = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
    if (start == MAP_FAILED) error = errno;
  }
  ::close(descriptor);
  if (error != 0) fail(file, "cannot map into memory: " + reason(error));
  if (!S_ISREG(info.st_mode)) fail(file, "not a regular file");
  if (size == 0) fail(file, "the file is empty");
  bytes_ = {static_cast<const std::byte*>(start), size};
}

FileMap::~FileMap() { ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size()); }

}  // namespace tenax::io
