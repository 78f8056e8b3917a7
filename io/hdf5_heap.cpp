// A collection: "GCOL", version 1, 3 bytes of zero, its length (8 bytes), then objects: number (2 bytes), references (2),
// zero (4), length (8), content up to a multiple of 8. Number 0 is the free rest, whose length includes its header; less
// than a header at the end is free too. (HDF5 File Format Specification, III.E.)
#include "io/hdf5_heap.hpp"

#include <cstdint>
#include <cstring>
#include <string_view>

namespace tenax::io {
namespace {

constexpr std::size_t kHeader = 16;  // of a collection, and of an object

template <class Value>
Value value_at(std::string_view bytes, std::size_t at) {
  Value value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// The bytes of the object that `rest` begins with; 0 where it has none that HDF5 could go on from.
std::size_t object_bytes(std::string_view rest) {
  const auto number = value_at<std::uint16_t>(rest, 0);
  const auto length = value_at<std::uint64_t>(rest, 8);
  if (length > rest.size()) return 0;
  return number == 0 ? length : kHeader + (length + 7) / 8 * 8;
}

bool is_sound(std::string_view rest) {
  if (rest.size() < kHeader) return false;
  const auto length = value_at<std::uint64_t>(rest, 8);
  if (length < kHeader || length > rest.size()) return false;
  rest = rest.substr(kHeader, length - kHeader);
  while (rest.size() >= kHeader) {
    const std::size_t bytes = object_bytes(rest);
    if (bytes == 0 || bytes > rest.size()) return false;
    rest.remove_prefix(bytes);
  }
  return true;
}

}  // namespace

bool has_sound_heaps(std::span<const std::byte> part) {
  constexpr std::string_view kMagic = "GCOL\1";
  const std::string_view bytes(reinterpret_cast<const char*>(part.data()), part.size());
  for (std::size_t at = bytes.find(kMagic); at != std::string_view::npos; at = bytes.find(kMagic, at + 1))
    if (!is_sound(bytes.substr(at))) return false;
  return true;
}

}  // namespace tenax::io
