#include "comm/transport/message_wire.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "comm/transport/socket.hpp"

namespace tenax::comm {
namespace {

static_assert(std::endian::native == std::endian::little, "headers travel as they lie in memory");

constexpr std::uint64_t kMostPayload = std::uint64_t{1} << 47;  // what one process can address

/// Copies a header's fields in their order, one way or the other. Returns how many bytes they take.
template <class Header, class Copy>
constexpr std::size_t for_each_field(Header& header, Copy copy) {
  std::size_t place = 0;
  const auto next = [&](auto& field) {
    copy(field, place);
    place += sizeof field;
  };
  next(header.kind);
  next(header.tag);
  next(header.number);
  next(header.sequence);
  next(header.bytes);
  next(header.payload_bytes);
  next(header.started_s);
  next(header.shared_buffer);
  next(header.late_s);
  return place;
}

constexpr std::size_t bytes_of_fields() {
  MessageHeader header;
  return for_each_field(header, [](auto&, std::size_t) {});
}
static_assert(bytes_of_fields() == kHeaderBytes);

bool is_possible(const MessageHeader& header) {
  return header.payload_bytes <= kMostPayload && std::isfinite(header.started_s) &&
         std::isfinite(header.late_s) && header.late_s >= 0;
}

}  // namespace

HeaderBytes encode(const MessageHeader& header) {
  HeaderBytes bytes{};
  for_each_field(header, [&](const auto& field, std::size_t place) {
    std::memcpy(bytes.data() + place, &field, sizeof field);
  });
  return bytes;
}

std::optional<MessageHeader> decode(std::span<const std::byte, kHeaderBytes> bytes) {
  MessageHeader header;
  for_each_field(header, [&](auto& field, std::size_t place) {
    std::memcpy(&field, bytes.data() + place, sizeof field);
  });
  return is_possible(header) ? std::optional(header) : std::nullopt;
}

MessageHeader decode_from(std::span<const std::byte, kHeaderBytes> bytes, const std::string& where) {
  const auto header = decode(bytes);
  if (!header)
    throw_link_error(where, "what came is no message: the other end is broken, or no rank of this run");
  return *header;
}

}  // namespace tenax::comm
