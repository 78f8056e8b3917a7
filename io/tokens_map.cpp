#include "io/tokens_map.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "io/posix_file.hpp"
#include "kernels/error.hpp"

namespace tenax::io {
namespace {

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& what) {
  throw kernels::Error(kernels::Scope::rank, "token file " + file.string() + ": " + what);
}

std::string reason(int error) { return std::generic_category().message(error); }

}  // namespace

FileMap::FileMap(const std::filesystem::path& file) {
  std::error_code failure;
  const int descriptor = open_regular_file(file, failure);
  if (failure) fail(file, "cannot open: " + failure.message());
  struct stat info {};
  const bool is_known = ::fstat(descriptor, &info) == 0;
  const auto size = static_cast<std::size_t>(info.st_size);
  void* start = MAP_FAILED;
  int error = is_known ? 0 : errno;
  if (is_known && size > 0) {
    start = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
    if (start == MAP_FAILED) error = errno;
  }
  ::close(descriptor);
  if (error != 0) fail(file, "cannot map into memory: " + reason(error));
  if (size == 0) fail(file, "the file is empty");
  bytes_ = {static_cast<const std::byte*>(start), size};
}

FileMap::~FileMap() { ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size()); }

}  // namespace tenax::io
