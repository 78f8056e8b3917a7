// How a MessageHeader travels: the same bytes on every kind of connection.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "comm/connection.hpp"

namespace tenax::comm {

inline constexpr std::size_t kHeaderBytes = 64;

using HeaderBytes = std::array<std::byte, kHeaderBytes>;

/// The fields in the order of MessageHeader, little-endian, without gaps.
HeaderBytes encode(const MessageHeader& header);
/// Nothing where no end sends such a header: its payload is larger than any memory, or its times are no times. What else a
/// header may say is its users' to check (inbox/message_check.hpp).
std::optional<MessageHeader> decode(std::span<const std::byte, kHeaderBytes> bytes);
/// Throws Error(link) that names the connection `where` instead of returning nothing.
MessageHeader decode_from(std::span<const std::byte, kHeaderBytes> bytes, const std::string& where);

}  // namespace tenax::comm
