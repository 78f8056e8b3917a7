#include "comm/verbs/gid_choice.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace tenax::comm::verbs {
namespace {

in6_addr ipv6_of(const Gid& gid) {
  in6_addr address{};
  std::memcpy(&address, gid.data(), gid.size());
  return address;
}

bool is_ipv4(const Gid& gid) {
  const in6_addr address = ipv6_of(gid);
  return IN6_IS_ADDR_V4MAPPED(&address);
}

bool is_link_local(const Gid& gid) {
  const in6_addr address = ipv6_of(gid);
  return IN6_IS_ADDR_LINKLOCAL(&address);
}

bool may_use(const GidEntry& entry, const GidRules& rules) {
  if (!entry.is_roce_v2 || is_link_local(entry.gid)) return false;
  const auto& allowed = rules.addresses;
  return !allowed || std::find(allowed->begin(), allowed->end(), ip_text(entry.gid)) != allowed->end();
}

GidChoice row(const std::vector<GidEntry>& table, int index) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const GidEntry& entry) { return entry.index == index; });
  if (found == table.end()) return {{}, "has nothing at GID index " + std::to_string(index)};
  return {*found, {}};
}

GidChoice roce_address(const std::vector<GidEntry>& table, const GidRules& rules) {
  GidChoice choice;
  for (const GidEntry& entry : table) {
    if (!may_use(entry, rules)) continue;
    if (!choice.entry || (is_ipv4(entry.gid) && !is_ipv4(choice.entry->gid))) choice.entry = entry;
  }
  if (!choice.entry)
    choice.obstacle = rules.addresses ? "has no RoCE v2 address of comm.interfaces"
                                      : "has no RoCE v2 address (an IP address that is not link-local)";
  return choice;
}

}  // namespace

GidChoice choose_gid(const std::vector<GidEntry>& table, LinkLayer layer, const GidRules& rules) {
  if (rules.index >= 0) return row(table, rules.index);
  return layer == LinkLayer::infiniband ? row(table, 0) : roce_address(table, rules);
}

std::string ip_text(const Gid& gid) {
  constexpr std::size_t kIpv4At = 12;
  const bool ipv4 = is_ipv4(gid);
  std::array<char, INET6_ADDRSTRLEN> text{};
  return inet_ntop(ipv4 ? AF_INET : AF_INET6, gid.data() + (ipv4 ? kIpv4At : 0), text.data(), text.size());
}

std::string gid_text(const Gid& gid) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return inet_ntop(AF_INET6, gid.data(), text.data(), text.size());
}

}  // namespace tenax::comm::verbs
