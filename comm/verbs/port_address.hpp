// PortAddress: what another process has to know of a port to send to it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/verbs/port.hpp"

namespace tenax::comm::verbs {

/// Port's fields, without the device.
struct PortAddress {
  LinkLayer link_layer = LinkLayer::ethernet;
  int mtu_bytes = 1024;
  int lid = 0;
  Gid gid{};
  std::uint64_t subnet_prefix = 0;
  std::vector<std::uint16_t> pkeys;
  int gbps = 0;  ///< 0: not known
  bool is_near = true, needs_grh = false;
  std::string name;  ///< "mlx5_0:1", for people

  explicit PortAddress(const Port& port);
  /// Of text(). Nothing where it is no port's.
  static std::optional<PortAddress> parse(std::string_view text);
  std::string text() const;  ///< one line
  bool operator==(const PortAddress&) const = default;

 private:
  PortAddress() = default;
};

/// A port at each end, as positions in the two lists.
struct PortPair {
  std::size_t connecting = 0, accepting = 0;
  bool operator==(const PortPair&) const = default;
};

/// In hexadecimal digits, with commas.
std::string pkeys_text(const std::vector<std::uint16_t>& pkeys);

/// The row of `port`'s table of P_Keys for what goes between it and `other`; each end finds the same partition. Nothing
/// where they have none in common.
std::optional<int> pkey_index(const Port& port, const PortAddress& other);

/// All pairs of one link layer and with a partition in common, in the order in which the `turn`-th connection
/// (from 0) prefers them. First come those that are at least half as fast as the fastest one, and of them those of one
/// subnet (else a router is between them). The last are InfiniBand's ports of different subnets. Both lists come in the
/// order of their ends' preference, but an end's near ports stand before its far ones. Among equals, pairs of ports that
/// stand far ahead come first, and each turn begins with the next one, so that consecutive turns take different ports as
/// long as there are any.
std::vector<PortPair> port_pairs(const std::vector<PortAddress>& connecting,
                                 const std::vector<PortAddress>& accepting, std::size_t turn);

/// port_pairs' turn of a peer's `number`-th connection (from 0), where the accepting end has these ports: each of its near
/// ones once, beginning with the `first`-th, then each of its far ones likewise. So ranks of a node share its ports, and a
/// rank that has its host to itself uses all of them.
std::size_t turn_of(const std::vector<Port>& accepting, std::size_t first, std::size_t number);

}  // namespace tenax::comm::verbs
