// ReplicaCounts: what a supervisor leaves in the store for the one after it: how often each replica
// was started.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenax::app {

struct ReplicaCounts {
  int replica = 0;
  std::int64_t incarnation = 0;  ///< the newest
  int starts_in_vain = 0;        ///< in a row
  bool operator==(const ReplicaCounts&) const = default;
};

/// `hosts_out`: those set aside.
std::string counts_text(const std::vector<ReplicaCounts>& counts, const std::vector<std::string>& hosts_out);
/// What counts_text() wrote; nothing for anything else.
std::vector<ReplicaCounts> parse_counts(const std::string& text);
std::vector<std::string> parse_hosts_out(const std::string& text);

}  // namespace tenax::app
