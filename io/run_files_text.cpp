#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "io/run_files.hpp"

namespace tenax::io {

int read_text_file(const std::filesystem::path& file, std::string& text) {
  text.clear();
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return errno;
  std::array<char, 1 << 16> block;
  ssize_t got = 0;
  while ((got = ::read(descriptor, block.data(), block.size())) > 0 || (got < 0 && errno == EINTR)) {
    if (got > 0) text.append(block.data(), static_cast<std::size_t>(got));
  }
  const int error = got < 0 ? errno : 0;
  ::close(descriptor);
  return error;
}

}  // namespace tenax::io
