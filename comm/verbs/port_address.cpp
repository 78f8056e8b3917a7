// As text: link layer, MTU, LID, subnet prefix and GID (both in hexadecimal digits), name.
#include "comm/verbs/port_address.hpp"

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace tenax::comm::verbs {
namespace {

constexpr std::size_t kMostName = 80;

std::string hexadecimal(const Gid& gid) {
  std::string text;
  for (const std::byte byte : gid) {
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", static_cast<unsigned>(byte));
    text += digits.data();
  }
  return text;
}

bool read_gid(const std::string& text, Gid& gid) {
  if (text.size() != 2 * gid.size() || text.find_first_not_of("0123456789abcdef") != std::string::npos)
    return false;
  for (std::size_t i = 0; i < gid.size(); ++i)
    gid[i] = static_cast<std::byte>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return true;
}

bool is_mtu(int bytes) {
  return bytes == 256 || bytes == 512 || bytes == 1024 || bytes == 2048 || bytes == 4096;
}

/// By how far apart their positions are: each diagonal pairs every port with another one.
std::vector<PortPair> pairs_by_preference(std::size_t connecting, std::size_t accepting) {
  std::vector<PortPair> pairs;
  const std::size_t most = std::max(connecting, accepting);
  for (std::size_t shift = 0; shift < most; ++shift)
    for (std::size_t i = 0; i < most; ++i)
      if (const PortPair pair{i, (i + shift) % most};
          pair.connecting < connecting && pair.accepting < accepting)
        pairs.push_back(pair);
  return pairs;
}

}  // namespace

PortAddress::PortAddress(const Port& port)
    : link_layer(port.link_layer),
      mtu_bytes(port.mtu_bytes),
      lid(port.lid),
      gid(port.gid),
      subnet_prefix(port.subnet_prefix),
      name(port.name()) {}

std::string PortAddress::text() const {
  std::ostringstream text;
  text << (link_layer == LinkLayer::infiniband ? "infiniband " : "ethernet ") << mtu_bytes << ' ' << lid
       << ' ' << std::hex << subnet_prefix << ' ' << hexadecimal(gid) << ' ' << name;
  return text.str();
}

std::optional<PortAddress> PortAddress::parse(const std::string& text) {
  std::istringstream words(text);
  PortAddress port;
  std::string layer, gid, rest;
  words >> layer >> port.mtu_bytes >> port.lid >> std::hex >> port.subnet_prefix >> gid >> port.name;
  const bool is_port = words && !(words >> rest) && (layer == "infiniband" || layer == "ethernet") &&
                       is_mtu(port.mtu_bytes) && port.lid >= 0 && port.lid <= UINT16_MAX &&
                       port.name.size() <= kMostName && read_gid(gid, port.gid);
  if (!is_port) return std::nullopt;
  port.link_layer = layer == "infiniband" ? LinkLayer::infiniband : LinkLayer::ethernet;
  return port;
}

std::vector<PortPair> port_pairs(const std::vector<PortAddress>& connecting,
                                 const std::vector<PortAddress>& accepting, std::size_t turn) {
  std::vector<PortPair> near, far;
  for (const PortPair& pair : pairs_by_preference(connecting.size(), accepting.size())) {
    const PortAddress &one = connecting[pair.connecting], &other = accepting[pair.accepting];
    if (one.link_layer != other.link_layer) continue;
    (one.subnet_prefix == other.subnet_prefix ? near : far).push_back(pair);
  }
  for (std::vector<PortPair>* pairs : {&near, &far})
    if (!pairs->empty())
      std::rotate(pairs->begin(), pairs->begin() + static_cast<std::ptrdiff_t>(turn % pairs->size()),
                  pairs->end());
  near.insert(near.end(), far.begin(), far.end());
  return near;
}

}  // namespace tenax::comm::verbs
