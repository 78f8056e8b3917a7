#include "io/posix_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "kernels/open_files.hpp"

namespace tenax::io {
namespace {

namespace fs = std::filesystem;

// Not O_RDWR. Ranks of several hosts write parts of one page of a checkpoint. Where a file is open to read, too, an NFS
// client first reads the page, then writes all of it: old bytes over what another host has written meanwhile.
constexpr int kWriteFlags = O_WRONLY | O_NOFOLLOW;

bool is_full(const std::error_code& code) {
  return code == std::errc::no_space_on_device || code.value() == EDQUOT;
}

/// What the system has no error number for.
class NotAFile final : public std::error_category {
 public:
  const char* name() const noexcept override { return "file"; }
  std::string message(int /*value*/) const override {
    return "it is a pipe, a socket or a device, not a file";
  }
  static std::error_code error() {
    static const NotAFile category;
    return {1, category};
  }
};

/// ENXIO is what a socket is refused with.
bool is_no_file(const std::error_code& code) {
  return code == std::errc::no_such_file_or_directory || code == std::errc::not_a_directory ||
         code == std::errc::is_a_directory || code == std::errc::no_such_device_or_address ||
         code == NotAFile::error();
}

std::error_code kind_fault(int descriptor) {
  struct stat info;
  if (fstat(descriptor, &info) != 0) return {errno, std::generic_category()};
  if (S_ISDIR(info.st_mode)) return std::make_error_code(std::errc::is_a_directory);
  return S_ISREG(info.st_mode) ? std::error_code() : NotAFile::error();
}

template <class Call>
auto retried(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

/// Space for the file system's own bookkeeping aside, `bytes` more must be free.
void check_free_space(const PosixFile& file, std::int64_t bytes) {
  struct statvfs info;
  if (fstatvfs(file.descriptor(), &info) != 0) return;  // nothing known: the writes will tell
  const double free_bytes = static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize);
  if (free_bytes < static_cast<double>(bytes)) throw_file_error("write", file.path(), ENOSPC);
}

}  // namespace

fs::path folder_of(const fs::path& target) {
  return target.has_parent_path() ? target.parent_path() : fs::path(".");
}

void check_folder_of(const fs::path& target) {
  const fs::path folder = folder_of(target);
  std::error_code none;
  if (!fs::is_directory(folder, none))
    throw kernels::Error(kernels::Scope::rank, "cannot write " + target.string() + ": there is no folder " +
                                                   folder.string() + " (make it first)");
}

std::error_code not_a_file() { return NotAFile::error(); }

std::string reason(const std::error_code& failure) {
  if (is_full(failure)) return failure.message() + " (make room, or write to another disk)";
  if (failure == std::errc::too_many_files_open)
    return failure.message() + " (" + kernels::more_open_files_advice() + ")";
  return failure.message();
}

void throw_file_error(const char* verb, const fs::path& path, const std::error_code& code) {
  const std::string sentence = std::string("cannot ") + verb + " " + path.string() + ": " + reason(code);
  if (is_full(code)) throw NoSpaceError(kernels::Scope::rank, sentence);
  if (is_no_file(code)) throw kernels::UnfitFileError(kernels::Scope::rank, sentence);
  throw kernels::Error(kernels::Scope::rank, sentence);
}

int open_regular_file(const fs::path& path, std::error_code& failure) {
  // Without O_NONBLOCK a pipe would wait for its writer.
  const int descriptor = retried([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); });
  failure = descriptor < 0 ? std::error_code(errno, std::generic_category()) : kind_fault(descriptor);
  if (!failure || descriptor < 0) return descriptor;
  ::close(descriptor);
  return -1;
}

PosixFile PosixFile::open(const fs::path& path, int flags, const char* verb) {
  const int descriptor = retried([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0666); });
  if (descriptor < 0) throw_file_error(verb, path, errno);
  return adopt(descriptor, path);
}
PosixFile PosixFile::adopt(int descriptor, const fs::path& path) { return PosixFile(path, descriptor); }
PosixFile PosixFile::open_to_read(const fs::path& path) {
  std::error_code failure;
  const int descriptor = open_regular_file(path, failure);
  if (failure) throw_file_error("read", path, failure);
  return adopt(descriptor, path);
}
PosixFile PosixFile::open_stream(const fs::path& path) {
  PosixFile file = open(path, O_RDONLY, "read");
  struct stat info;
  const bool is_pipe = fstat(file.descriptor(), &info) == 0 && S_ISFIFO(info.st_mode);
  const std::error_code fault = is_pipe ? std::error_code() : kind_fault(file.descriptor());
  if (fault) throw_file_error("read", path, fault);
  return file;
}
PosixFile PosixFile::open_to_write(const fs::path& path) { return open(path, kWriteFlags, "write"); }
PosixFile PosixFile::open_to_append(const fs::path& path) { return open(path, O_WRONLY | O_NOCTTY, "write"); }
PosixFile PosixFile::create(const fs::path& path) { return create_for(path, path); }
PosixFile PosixFile::create_for(const fs::path& path, const fs::path& target) {
  check_folder_of(target);
  // Somebody else may have put a link under the name, which is easy to guess, where he may write too.
  ::unlink(path.c_str());
  const int descriptor =
      retried([&] { return ::open(path.c_str(), kWriteFlags | O_CREAT | O_EXCL | O_CLOEXEC, 0666); });
  if (descriptor < 0) throw_file_error("write", target, errno);
  return adopt(descriptor, target);
}

PosixFile::PosixFile(PosixFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
PosixFile::~PosixFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool PosixFile::has_its_name() const {
  struct stat open {
  }, named{};
  return ::fstat(descriptor_, &open) == 0 && ::stat(path_.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

std::int64_t PosixFile::size() const {
  struct stat info;
  if (fstat(descriptor_, &info) != 0) throw_file_error("read", path_, errno);
  return info.st_size;
}

void PosixFile::read(std::span<std::byte> bytes, std::int64_t offset) const {
  while (!bytes.empty()) {
    const ssize_t n = retried([&] { return ::pread(descriptor_, bytes.data(), bytes.size(), offset); });
    if (n < 0) throw_file_error("read", path_, errno);
    if (n == 0) {
      throw kernels::UnfitFileError(kernels::Scope::rank, path_.string() + " is truncated: it ends at byte " +
                                                              std::to_string(size()) + ", within its data");
    }
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += n;
  }
}

void PosixFile::write(std::span<const std::byte> bytes, std::int64_t offset) const {
  while (!bytes.empty()) {
    const ssize_t n = retried([&] { return ::pwrite(descriptor_, bytes.data(), bytes.size(), offset); });
    if (n < 0) throw_file_error("write", path_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += n;
  }
}

void PosixFile::append(std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t n = retried([&] { return ::write(descriptor_, bytes.data(), bytes.size()); });
    if (n < 0) throw_file_error("write", path_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

void PosixFile::reserve(std::int64_t bytes) const {
  // Not posix_fallocate: where the file system cannot reserve, glibc's writes into every block instead.
  if (retried([&] { return ::fallocate(descriptor_, 0, 0, bytes); }) == 0) return;
  if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL) throw_file_error("write", path_, errno);
  check_free_space(*this, bytes);
  if (retried([&] { return ::ftruncate(descriptor_, bytes); }) != 0) throw_file_error("write", path_, errno);
}

void PosixFile::sync() const {
  if (retried([&] { return ::fsync(descriptor_); }) != 0) throw_file_error("write", path_, errno);
}

}  // namespace tenax::io
