// Ports: this host's RDMA ports, and which of them a rank uses.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/verbs.hpp"
#include "comm/verbs/port_query.hpp"

namespace tenax::comm::verbs {

/// A port's place among those that are there: a device's name and a number.
struct PortName {
  std::string device;
  int number = 1;
  bool operator==(const PortName&) const = default;
};

/// Those of `there` that the patterns name for `local_rank` (nothing: for any), in the patterns'
/// order; all of them where there are no patterns. Throws Error(rank) for a pattern that names none,
/// with the names of those that are there.
std::vector<PortName> matching_ports(const std::vector<PortName>& there,
                                     const std::vector<VerbsPortPattern>& patterns,
                                     std::optional<int> local_rank);

/// What the options say of addresses, as the host's interfaces are now.
GidRules gid_rules(const VerbsPortOptions& options);

/// Opens every device of the host, each once. Thread rule: any thread; nothing changes.
class Ports {
 public:
  /// `local_rank`: this process's number on its host; nothing: it is no rank. Throws Error(rank) for a
  /// pattern that names no port.
  Ports(const VerbsPortOptions& options, std::optional<int> local_rank);

  /// Every port of the host, as it was then, in libibverbs' order.
  const std::vector<PortStatus>& all() const { return all_; }
  /// Those of the patterns, in their order: some may come up later.
  std::vector<PortStatus> chosen() const;

 private:
  std::vector<PortStatus> all_;
  std::vector<std::size_t> chosen_;  ///< places in all_
};

}  // namespace tenax::comm::verbs
