#include "comm/verbs/peer_notice.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace tenax::comm::verbs {
namespace {

struct Wire {
  std::uint32_t kind = 0, reason = 0;
  std::uint64_t count = 0;
  std::array<char, 88> port{};
};
static_assert(sizeof(Wire) == PeerNotice::kBytes);

}  // namespace

PeerNotice::Bytes PeerNotice::bytes() const {
  assert(port.size() <= kMostPort);
  Wire wire{static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(reason), count, {}};
  std::copy(port.begin(), port.end(), wire.port.begin());
  Bytes bytes;
  std::memcpy(bytes.data(), &wire, sizeof wire);
  return bytes;
}

std::optional<PeerNotice> PeerNotice::parse(std::span<const std::byte, kBytes> bytes) {
  Wire wire;
  std::memcpy(&wire, bytes.data(), sizeof wire);
  const auto end = std::find(wire.port.begin(), wire.port.end(), '\0');
  const bool is_notice = wire.kind >= static_cast<std::uint32_t>(Kind::goodbye) &&
                         wire.kind <= static_cast<std::uint32_t>(Kind::offers) &&
                         wire.reason <= static_cast<std::uint32_t>(BreakReason::own_fault) &&
                         end - wire.port.begin() <= static_cast<std::ptrdiff_t>(kMostPort);
  if (!is_notice) return std::nullopt;
  return PeerNotice{static_cast<Kind>(wire.kind), wire.count, std::string(wire.port.begin(), end),
                    static_cast<BreakReason>(wire.reason)};
}

}  // namespace tenax::comm::verbs
