// The addresses of this host's network interfaces.
#pragma once

#include <string>
#include <vector>

namespace tenax::comm {

struct NetworkAddress {
  std::string interface;  ///< "eth0"
  std::string text;       ///< "10.0.0.5", "fd00::2"
  bool is_ipv6 = false;
  bool is_loopback = false;
};

/// Of the interfaces that are up: IPv4 before IPv6, loopback last; without IPv6's link-local addresses, which mean nothing
/// to other hosts. `chosen` (names or addresses; none = all) picks and orders. Throws Error(rank) for one that is not up.
std::vector<NetworkAddress> network_addresses(const std::vector<std::string>& chosen);

}  // namespace tenax::comm
