// Which of a port's addresses (GIDs) connections use.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "comm/verbs/port.hpp"

namespace tenax::comm::verbs {

/// A row of a port's table of addresses.
struct GidEntry {
  int index = 0;
  Gid gid{};
  bool is_roce_v2 = false;
};

/// What the deck says of addresses.
struct GidRules {
  int index = -1;  ///< that row, whatever it holds; −1: by its address
  /// RoCE: the IP addresses that may be used ("10.0.0.5", "fd00::2"); nothing = any.
  std::optional<std::vector<std::string>> addresses;
};

/// A row, or why there is none.
struct GidChoice {
  std::optional<GidEntry> entry;
  std::string obstacle;  ///< "has no …"; empty where there is an entry
};

/// `table`: the rows that hold something. By address: InfiniBand's first row; on Ethernet RoCE v2 over
/// IPv4, else over IPv6, never from a link-local address, which means nothing to other hosts.
GidChoice choose_gid(const std::vector<GidEntry>& table, LinkLayer layer, const GidRules& rules);

/// The IP address in a GID: "10.0.0.5", "fd00::2".
std::string ip_text(const Gid& gid);
/// As `tenax ports` prints it: "::ffff:10.0.0.5", "fe80::1".
std::string gid_text(const Gid& gid);

}  // namespace tenax::comm::verbs
