#include "io/run/line_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "io/posix_file.hpp"
#include "kernels/error.hpp"

namespace tenax::io {

LineFile::LineFile(const std::filesystem::path& file) : file_(file) {
  open(O_CREAT);
  cut_torn_line();
}

LineFile::~LineFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void LineFile::fail(int error) const {
  const char* advice = error == ENOSPC || error == EDQUOT ? "; make room, then start again to resume"
                       : error == ELOOP                   ? "; it is a link, which nothing is written through"
                                                          : "";
  throw kernels::Error(kernels::Scope::rank, "cannot write " + file_.string() + ": " +
                                                 std::generic_category().message(error) + advice);
}

void LineFile::cut_torn_line() {
  const off_t size = ::lseek(descriptor_, 0, SEEK_END);
  if (size < 0) fail(errno);
  std::array<char, 4096> block;
  off_t end = size;  // nothing from here on ends a line
  while (end > 0) {
    const off_t begin = std::max<off_t>(0, end - static_cast<off_t>(block.size()));
    const ssize_t got = ::pread(descriptor_, block.data(), static_cast<std::size_t>(end - begin), begin);
    if (got < 0) fail(errno);
    const auto newline = std::string_view(block.data(), static_cast<std::size_t>(got)).rfind('\n');
    end = newline == std::string_view::npos ? begin : begin + static_cast<off_t>(newline) + 1;
    if (newline != std::string_view::npos) break;
  }
  if (end < size && ::ftruncate(descriptor_, end) != 0) fail(errno);
}

void LineFile::open(int flags) {
  const int descriptor = ::open(file_.c_str(), O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC | flags, 0666);
  if (descriptor < 0) fail(errno);
  descriptor_ = descriptor;
}

void LineFile::append(const std::string& line) {
  const off_t size_before = ::lseek(descriptor_, 0, SEEK_END);
  try {
    write_all(line + "\n");
  } catch (const kernels::Error&) {
    // Best effort: where even this fails, the next start cuts the torn line.
    [[maybe_unused]] const int result = ::ftruncate(descriptor_, size_before);
    throw;
  }
}

void LineFile::write_all(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written >= 0)
      text.remove_prefix(static_cast<std::size_t>(written));
    else if (errno != EINTR)
      fail(errno);
  }
}

void LineFile::sync() const {
  while (::fsync(descriptor_) != 0)
    if (errno != EINTR) fail(errno);
}

// A file system that does not answer says nothing of the file.
bool LineFile::in_place() const {
  struct stat open, named;
  if (::lstat(file_.c_str(), &named) != 0) return errno != ENOENT && errno != ENOTDIR;
  if (::fstat(descriptor_, &open) != 0) return errno != ESTALE;
  return open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

void LineFile::restore() {
  if (in_place()) return;
  struct stat named;
  const bool is_gone = ::lstat(file_.c_str(), &named) != 0;
  const int before = descriptor_;
  open(is_gone ? O_CREAT | O_EXCL : 0);
  try {
    if (is_gone) copy_from(before);
  } catch (const kernels::Error&) {  // the old file may be the only whole one
    ::unlink(file_.c_str());
    ::close(std::exchange(descriptor_, before));
    throw;
  }
  ::close(before);
}

void LineFile::copy_from(int old) const {
  std::array<char, 1 << 16> block;
  off_t at = 0;
  for (ssize_t got = 0; (got = ::pread(old, block.data(), block.size(), at)) > 0; at += got)
    write_all({block.data(), static_cast<std::size_t>(got)});
}

}  // namespace tenax::io
