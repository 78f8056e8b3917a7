#include "comm/transport/listening_interfaces.hpp"

#include <arpa/inet.h>
#include <endian.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>
#include <system_error>
#include <tuple>

#include "comm/failure.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

using kernels::Error;
using kernels::Scope;

/// The bytes that an address begins with, as far as its mask goes.
template <class Address>
std::uint64_t network_of(const Address& address, const Address& mask) {
  constexpr std::size_t kBytes = std::min(sizeof(Address), sizeof(std::uint64_t));
  std::uint64_t own = 0, masked = 0;
  std::memcpy(&own, &address, kBytes);
  std::memcpy(&masked, &mask, kBytes);
  return be64toh(own & masked);
}

template <class SocketAddress>
const SocketAddress& as(const sockaddr* address) {
  return *reinterpret_cast<const SocketAddress*>(address);
}

std::uint64_t network_of(const ifaddrs& entry) {
  if (!entry.ifa_netmask) return 0;
  if (entry.ifa_addr->sa_family == AF_INET)
    return network_of(as<sockaddr_in>(entry.ifa_addr).sin_addr, as<sockaddr_in>(entry.ifa_netmask).sin_addr);
  return network_of(as<sockaddr_in6>(entry.ifa_addr).sin6_addr,
                    as<sockaddr_in6>(entry.ifa_netmask).sin6_addr);
}

/// False for what cannot be listened on: no IP address, or a link-local one.
bool read_address(const ifaddrs& entry, NetworkAddress& address) {
  if (!entry.ifa_addr || (entry.ifa_flags & IFF_UP) == 0) return false;
  const void* bytes = nullptr;
  const int family = entry.ifa_addr->sa_family;
  if (family == AF_INET) {
    bytes = &as<sockaddr_in>(entry.ifa_addr).sin_addr;
  } else if (family == AF_INET6) {
    const in6_addr& ipv6 = as<sockaddr_in6>(entry.ifa_addr).sin6_addr;
    if (IN6_IS_ADDR_LINKLOCAL(&ipv6)) return false;
    bytes = &ipv6;
  } else {
    return false;
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (!inet_ntop(family, bytes, text.data(), text.size())) return false;
  address = {entry.ifa_name, text.data(), family == AF_INET6, (entry.ifa_flags & IFF_LOOPBACK) != 0,
             network_of(entry)};
  return true;
}

std::vector<NetworkAddress> all_addresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0)
    throw Error(Scope::rank, "cannot list the network interfaces of " + this_host() + " (" +
                                 std::generic_category().message(errno) + ")");
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  std::vector<NetworkAddress> addresses;
  for (const ifaddrs* entry = list; entry; entry = entry->ifa_next)
    if (NetworkAddress address; read_address(*entry, address)) addresses.push_back(address);
  std::stable_sort(addresses.begin(), addresses.end(), [](const NetworkAddress& a, const NetworkAddress& b) {
    return std::tuple(a.is_loopback, a.is_ipv6) < std::tuple(b.is_loopback, b.is_ipv6);
  });
  return addresses;
}

std::string names_of(const std::vector<NetworkAddress>& addresses) {
  std::string names;
  for (const NetworkAddress& address : addresses)
    names += (names.empty() ? "" : ", ") + address.interface + " (" + address.text + ")";
  return names.empty() ? "none" : names;
}

}  // namespace

std::vector<NetworkAddress> network_addresses(const std::vector<std::string>& chosen) {
  const std::vector<NetworkAddress> all = all_addresses();
  if (chosen.empty()) return all;
  std::vector<NetworkAddress> picked;
  std::set<std::string> texts;
  for (const std::string& choice : chosen) {
    bool found = false;
    for (const NetworkAddress& address : all) {
      if (address.interface != choice && address.text != choice) continue;
      found = true;
      if (texts.insert(address.text).second) picked.push_back(address);
    }
    if (!found)
      throw Error(Scope::rank, "comm.interfaces: " + this_host() + " has no interface or address '" + choice +
                                   "' that is up; it has " + names_of(all));
  }
  return picked;
}

}  // namespace tenax::comm
