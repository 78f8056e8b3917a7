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

/// All pairs that fit, in the order in which the `turn`-th connection (from 0) prefers them: those of
/// one link layer and one subnet, then those of one link layer (a router is between them). Both
/// lists come in the order of their ends' preference: among equals, pairs of ports that stand far
/// ahead come first, and each turn begins with the next one, so that consecutive turns take
/// different ports as long as there are any.
std::vector<PortPair> port_pairs(const std::vector<PortAddress>& connecting,
                                 const std::vector<PortAddress>& accepting, std::size_t turn);

}  // namespace tenax::comm::verbs
