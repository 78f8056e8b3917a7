#include "io/text_file.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <span>

#include "io/posix_file.hpp"

namespace tenax::io {

std::error_code read_text_file(const std::filesystem::path& file, std::string& text,
                               std::int64_t most_bytes) {
  text.clear();
  std::error_code failure;
  const int descriptor = open_regular_file(file, failure);
  if (failure) return failure;
  std::array<char, 1 << 16> block;
  ssize_t got = 0;
  while (!failure &&
         ((got = ::read(descriptor, block.data(), block.size())) > 0 || (got < 0 && errno == EINTR))) {
    if (got > 0) text.append(block.data(), static_cast<std::size_t>(got));
    if (static_cast<std::int64_t>(text.size()) > most_bytes)
      failure = std::make_error_code(std::errc::file_too_large);
  }
  if (got < 0) failure = {errno, std::generic_category()};
  ::close(descriptor);
  if (failure) text.clear();
  return failure;
}

void write_file_atomically(const std::filesystem::path& file, std::string_view text) {
  AtomicFile beside(file);
  beside.file().write(std::as_bytes(std::span(text.data(), text.size())), 0);
  beside.publish();
}

}  // namespace tenax::io
