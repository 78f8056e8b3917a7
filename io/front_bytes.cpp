#include "io/front_bytes.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

namespace tenax::io {

std::string front_bytes(const PosixFile& file, std::int64_t most) {
  std::string text(static_cast<std::size_t>(std::min(file.size(), most)), '\0');
  file.read(std::as_writable_bytes(std::span(text)), 0);
  return text;
}

}  // namespace tenax::io
