// The network interfaces of a host, and those that a job's ranks listen on: where their peers are,
// and nowhere else.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "comm/control_group.hpp"

namespace tenax::comm {

struct NetworkAddress {
  std::string interface;  ///< "eth0"
  std::string text;       ///< "10.0.0.5", "fd00::2"
  bool is_ipv6 = false;
  bool is_loopback = false;
  std::uint64_t network = 0;  ///< equal for addresses of one subnet: the first 64 bits that it shares
};

/// Addresses of the interfaces that are up: IPv4 before IPv6, loopback last; without IPv6's
/// link-local addresses, which mean nothing to other hosts. `chosen` (names or addresses; none =
/// all) picks and orders. Throws Error(rank) for one that is not up.
std::vector<NetworkAddress> network_addresses(const std::vector<std::string>& chosen);

/// What a rank's sockets are bound to.
struct HostNetwork {
  std::string host;   ///< its name
  std::string stack;  ///< equal where processes share their network interfaces, loopback included
  /// The addresses that this host finds for names of hosts, as "name address"; it takes a few
  /// seconds at most.
  std::function<std::vector<std::string>(const std::vector<std::string>& hosts)> look_up;
};

/// The network of this process, on the host called `host`.
HostNetwork host_network(const std::string& host);

/// Collective over `control`, all ranks of a job: what each is to listen on where the user has not
/// chosen. Loopback's addresses where all share one; else the interfaces whose addresses some rank
/// finds for this host's name. None = all that are up: where no name leads to any.
std::vector<std::string> interfaces_of_job(ControlGroup& control, const HostNetwork& here);

}  // namespace tenax::comm
