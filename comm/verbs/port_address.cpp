// As text: link layer, MTU, LID, subnet prefix, GID and P_Keys (in hexadecimal digits, P_Keys with commas), Gb/s, whether it is
// near and whether it needs a GRH (1 or 0), name. The words are short: the ports of a host go into one message.
#include "comm/verbs/port_address.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <sstream>

#include "kernels/number_text.hpp"

namespace tenax::comm::verbs {
namespace {

constexpr std::size_t kMostName = 80;
constexpr const char *kInfiniBand = "ib", *kEthernet = "eth";

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

std::vector<std::uint16_t> pkeys_of(const Port& port) {
  std::vector<std::uint16_t> pkeys;
  for (const Partition& partition : port.partitions) pkeys.push_back(partition.pkey);
  return pkeys;
}

std::optional<std::vector<std::uint16_t>> pkeys_of(std::string_view text) {
  std::vector<std::uint16_t> pkeys;
  while (pkeys.size() < Port::kMostPartitions) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const auto pkey = kernels::number_of<std::uint16_t>(text.substr(0, comma), 16);
    if (!pkey) return std::nullopt;
    pkeys.push_back(*pkey);
    if (comma == text.size()) return pkeys;
    text.remove_prefix(comma + 1);
  }
  return std::nullopt;
}

/// Of two members of a partition one may be a limited one.
bool can_talk(std::uint16_t one, std::uint16_t other) {
  return ((one ^ other) | Partition::kFullMember) == Partition::kFullMember &&
         ((one | other) & Partition::kFullMember) != 0;
}

/// The position of the best one for a way to a member of `theirs`: full at both ends, then that of the largest number, which is
/// the default one.
std::optional<std::size_t> common_partition(const std::vector<std::uint16_t>& mine,
                                            const std::vector<std::uint16_t>& theirs) {
  std::optional<std::size_t> best;
  std::uint16_t most = 0;
  for (std::size_t i = 0; i < mine.size(); ++i)
    for (const std::uint16_t other : theirs)
      if (const auto both = static_cast<std::uint16_t>(mine[i] & other);
          can_talk(mine[i], other) && (!best || both > most)) {
        best = i;
        most = both;
      }
  return best;
}

bool can_reach(const PortAddress& one, const PortAddress& other) {
  return one.link_layer == other.link_layer && common_partition(one.pkeys, other.pkeys).has_value();
}

std::optional<LinkLayer> link_layer_of(std::string_view text) {
  if (text == kInfiniBand) return LinkLayer::infiniband;
  return text == kEthernet ? std::optional(LinkLayer::ethernet) : std::nullopt;
}

std::optional<bool> truth_of(std::string_view text) {
  if (text != "0" && text != "1") return std::nullopt;
  return text == "1";
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

/// Among such pairs, all is rotated; of the two ends' ports, they have these.
struct Equals {
  using Place = std::pair<bool, std::size_t>;  // whether it is far, position: the near ones come first
  std::set<Place> connecting, accepting;
  std::set<std::pair<std::size_t, std::size_t>> pairs;

  void add(Place one, Place other) {
    connecting.insert(one);
    accepting.insert(other);
    pairs.emplace(one.second, other.second);
  }
  std::vector<PortPair> in_order(std::size_t turn) const {
    const std::vector<Place> ones(connecting.begin(), connecting.end()),
        others(accepting.begin(), accepting.end());
    std::vector<PortPair> all;
    for (const PortPair& places : pairs_by_preference(ones.size(), others.size()))
      if (const PortPair pair{ones[places.connecting].second, others[places.accepting].second};
          pairs.contains({pair.connecting, pair.accepting}))
        all.push_back(pair);
    std::rotate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(turn % all.size()), all.end());
    return all;
  }
};

/// A path is as fast as its slower end. 0: not known.
int gbps_of(const PortAddress& one, const PortAddress& other) { return std::min(one.gbps, other.gbps); }

int fastest_gbps(const std::vector<PortAddress>& connecting, const std::vector<PortAddress>& accepting) {
  int fastest = 0;
  for (const PortAddress& one : connecting)
    for (const PortAddress& other : accepting)
      if (can_reach(one, other)) fastest = std::max(fastest, gbps_of(one, other));
  return fastest;
}

template <class Gbps>
bool is_slow(Gbps gbps, Gbps fastest) {
  return gbps > 0 && 2 * gbps < fastest;
}

/// What a pair has against it, the worst first. A port of a host's management beside those of its data must not get
/// its turn as they do. A far port gets it: else half of a host's adapters may idle.
std::array<bool, 3> drawbacks_of(const PortAddress& one, const PortAddress& other, int fastest) {
  const bool is_routed = one.subnet_prefix != other.subnet_prefix;
  return {is_routed && one.link_layer == LinkLayer::infiniband, is_slow(gbps_of(one, other), fastest),
          is_routed};
}

}  // namespace

PortAddress::PortAddress(const Port& port)
    : link_layer(port.link_layer),
      mtu_bytes(port.mtu_bytes),
      lid(port.lid),
      gid(port.gid),
      subnet_prefix(port.subnet_prefix),
      pkeys(pkeys_of(port)),
      gbps(static_cast<int>(std::lround(port.gbps))),
      is_near(port.is_near),
      needs_grh(port.needs_grh),
      name(port.name()) {}

std::string PortAddress::text() const {
  std::ostringstream text;
  text << (link_layer == LinkLayer::infiniband ? kInfiniBand : kEthernet) << ' ' << mtu_bytes << ' ' << lid
       << ' ' << std::hex << subnet_prefix << ' ' << hexadecimal(gid) << ' ' << pkeys_text(pkeys) << ' '
       << std::dec << gbps << ' ' << is_near << ' ' << needs_grh << ' ' << name;
  return text.str();
}

std::optional<PortAddress> PortAddress::parse(std::string_view text) {
  using kernels::number_of, kernels::take_word;
  const auto layer = link_layer_of(take_word(text));
  const auto mtu_bytes = number_of<int>(take_word(text));
  const auto lid = number_of<std::uint16_t>(take_word(text));
  const auto subnet_prefix = number_of<std::uint64_t>(take_word(text), 16);
  const auto gid = gid_of(take_word(text));
  const auto pkeys = pkeys_of(take_word(text));
  const auto gbps = number_of<int>(take_word(text));
  const auto is_near = truth_of(take_word(text)), needs_grh = truth_of(take_word(text));
  const std::string name(text);
  const bool has_name = !name.empty() && name.size() <= kMostName && name.find(' ') == std::string::npos;
  if (!layer || !mtu_bytes || !is_mtu(*mtu_bytes) || !lid || !subnet_prefix || !gid || !pkeys || !gbps ||
      *gbps < 0 || !is_near || !needs_grh || !has_name)
    return std::nullopt;
  PortAddress port;
  port.link_layer = *layer;
  port.mtu_bytes = *mtu_bytes;
  port.lid = *lid;
  port.subnet_prefix = *subnet_prefix;
  port.gid = *gid;
  port.pkeys = *pkeys;
  port.gbps = *gbps;
  port.is_near = *is_near;
  port.needs_grh = *needs_grh;
  port.name = name;
  return port;
}

std::string pkeys_text(const std::vector<std::uint16_t>& pkeys) {
  std::ostringstream text;
  for (const std::uint16_t pkey : pkeys) text << (text.tellp() > 0 ? "," : "") << std::hex << pkey;
  return text.str();
}

std::optional<int> pkey_index(const Port& port, const PortAddress& other) {
  const auto place = common_partition(pkeys_of(port), other.pkeys);
  return place ? std::optional(port.partitions[*place].row) : std::nullopt;
}

std::vector<PortPair> port_pairs(const std::vector<PortAddress>& connecting,
                                 const std::vector<PortAddress>& accepting, std::size_t turn) {
  const int fastest = fastest_gbps(connecting, accepting);
  std::map<std::array<bool, 3>, Equals> best_first;
  for (std::size_t i = 0; i < connecting.size(); ++i)
    for (std::size_t j = 0; j < accepting.size(); ++j)
      if (can_reach(connecting[i], accepting[j]))
        best_first[drawbacks_of(connecting[i], accepting[j], fastest)].add({!connecting[i].is_near, i},
                                                                           {!accepting[j].is_near, j});
  std::vector<PortPair> pairs;
  for (const auto& [drawbacks, equals] : best_first) {
    const std::vector<PortPair> next = equals.in_order(turn);
    pairs.insert(pairs.end(), next.begin(), next.end());
  }
  return pairs;
}

std::size_t turn_of(const std::vector<Port>& accepting, std::size_t first, std::size_t number) {
  double fastest = 0;
  for (const Port& port : accepting) fastest = std::max(fastest, port.gbps);
  std::size_t ports = 0, near = 0;
  for (const Port& port : accepting)
    if (!is_slow(port.gbps, fastest)) {
      ++ports;
      near += port.is_near ? 1 : 0;
    }
  if (near == ports || near == 0) return first + number;
  const std::size_t place = number % ports, round = number - place;
  if (place < near) return round + (first + place) % near;
  return round + near + (first + place - near) % (ports - near);
}

}  // namespace tenax::comm::verbs
