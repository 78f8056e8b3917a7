// PeerNotice: what one end of a connection tells the other beside its messages, over TCP.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "comm/verbs/break_reason.hpp"

namespace tenax::comm::verbs {

struct PeerNotice {
  enum class Kind : std::uint32_t {
    goodbye = 1,  ///< no more will be sent
    port_down,    ///< `port` of the teller is not active
    port_up,      ///< `port` of the teller can be used again
    broken,       ///< the connection has broken at the teller's end, for `reason`
    offers        ///< the teller offers memory for payloads of at least `count` bytes (0: for none)
  };
  static constexpr std::size_t kBytes = 104, kMostPort = 80;
  using Bytes = std::array<std::byte, kBytes>;

  Kind kind = Kind::goodbye;
  std::uint64_t count = 0;                      ///< of a goodbye: frames that have been written
  std::string port = {};                        ///< "mlx5_0:1", at most kMostPort bytes
  BreakReason reason = BreakReason::peer_gone;  ///< as the teller sees it

  /// As it travels: kind, reason, count, the port's name with zeros behind it.
  Bytes bytes() const;
  /// Nothing where it is no notice.
  static std::optional<PeerNotice> parse(std::span<const std::byte, kBytes> bytes);
};

}  // namespace tenax::comm::verbs
