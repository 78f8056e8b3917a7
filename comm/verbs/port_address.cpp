// As text: link layer, MTU, LID, subnet prefix and GID (both in hexadecimal digits), name.
#include "comm/verbs/port_address.hpp"

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "kernels/number_text.hpp"

namespace tenax::comm::verbs {
namespace {

constexpr std::size_t kMostName = 80;
constexpr const char *kInfiniBand = "infiniband", *kEthernet = "ethernet";

std::string hexadecimal(const Gid& gid) {
  std::string text;
  for (const std::byte byte : gid) {
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", static_cast<unsigned>(byte));
    text += digits.data();
  }
  return text;
}

std::optional<Gid> gid_of(std::string_view text) {
  Gid gid;
  if (text.size() != 2 * gid.size()) return std::nullopt;
  for (std::size_t i = 0; i < gid.size(); ++i) {
    const auto byte = kernels::number_of<std::uint8_t>(text.substr(2 * i, 2), 16);
    if (!byte) return std::nullopt;
    gid[i] = static_cast<std::byte>(*byte);
  }
  return gid;
}

std::optional<LinkLayer> link_layer_of(std::string_view text) {
  if (text == kInfiniBand) return LinkLayer::infiniband;
  return text == kEthernet ? std::optional(LinkLayer::ethernet) : std::nullopt;
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
  text << (link_layer == LinkLayer::infiniband ? kInfiniBand : kEthernet) << ' ' << mtu_bytes << ' ' << lid
       << ' ' << std::hex << subnet_prefix << ' ' << hexadecimal(gid) << ' ' << name;
  return text.str();
}

std::optional<PortAddress> PortAddress::parse(std::string_view text) {
  using kernels::number_of, kernels::take_word;
  const auto layer = link_layer_of(take_word(text));
  const auto mtu_bytes = number_of<int>(take_word(text));
  const auto lid = number_of<std::uint16_t>(take_word(text));
  const auto subnet_prefix = number_of<std::uint64_t>(take_word(text), 16);
  const auto gid = gid_of(take_word(text));
  const std::string name(text);
  const bool has_name = !name.empty() && name.size() <= kMostName && name.find(' ') == std::string::npos;
  if (!layer || !mtu_bytes || !is_mtu(*mtu_bytes) || !lid || !subnet_prefix || !gid || !has_name)
    return std::nullopt;
  PortAddress port;
  port.link_layer = *layer;
  port.mtu_bytes = *mtu_bytes;
  port.lid = *lid;
  port.subnet_prefix = *subnet_prefix;
  port.gid = *gid;
  port.name = name;
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
