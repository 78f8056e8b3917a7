#include "comm/verbs/frame.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tenax::comm::verbs {
namespace {

constexpr std::size_t kBytesOfPage = 4096, kLeastRing = std::size_t{64} << 10,
                      kMostRing = std::size_t{64} << 20;

/// Copies a header's fields in their order, one way or the other.
template <class Header, class Copy>
void for_each_field(Header& header, Copy copy) {
  copy(header.kind);
  copy(header.tag);
  copy(header.number);
  copy(header.sequence);
  copy(header.bytes);
  copy(header.payload_bytes);
  copy(header.started_s);
  copy(header.shared_buffer);
  copy(header.late_s);
}

}  // namespace

HeaderBytes encode(const MessageHeader& header) {
  HeaderBytes bytes{};
  std::byte* next = bytes.data();
  for_each_field(header, [&](const auto& field) {
    std::memcpy(next, &field, sizeof field);
    next += sizeof field;
  });
  return bytes;
}

std::optional<MessageHeader> decode(std::span<const std::byte, kHeaderBytes> bytes) {
  MessageHeader header;
  const std::byte* next = bytes.data();
  for_each_field(header, [&](auto& field) {
    std::memcpy(&field, next, sizeof field);
    next += sizeof field;
  });
  const bool is_sound = std::isfinite(header.started_s) && std::isfinite(header.late_s) && header.late_s >= 0;
  return is_sound ? std::optional(header) : std::nullopt;
}

int RingSize::frames() const {
  return static_cast<int>(std::clamp<std::size_t>(bytes / kBytesOfPage, 64, 2048));
}

bool RingSize::is_possible(std::uint64_t bytes) {
  return bytes >= kLeastRing && bytes <= kMostRing && bytes % kBytesOfPage == 0;
}

}  // namespace tenax::comm::verbs
