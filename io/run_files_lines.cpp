#include "io/run_files_lines.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "kernels/error.hpp"

namespace tenax::io {

LineFile::LineFile(const std::filesystem::path& file) : file_(file) {
  descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail(errno);
  cut_torn_line();
}

LineFile::~LineFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void LineFile::fail(int error) const {
  const char* advice = error == ENOSPC || error == EDQUOT ? "; make room, then start again to resume" : "";
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

void LineFile::append(const std::string& line) {
  const std::string text = line + "\n";
  const off_t size_before = ::lseek(descriptor_, 0, SEEK_END);
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      const int error = errno;
      // Best effort: where even this fails, the next start cuts the torn line.
      [[maybe_unused]] const int result = ::ftruncate(descriptor_, size_before);
      fail(error);
    }
  }
}

}  // namespace tenax::io
