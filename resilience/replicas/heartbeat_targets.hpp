// To which rank each rank of a replica beats.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tenax::resilience {

/// `hosts`: of each rank. Ranks on the leader's host beat to it (rank 0), and of each other host the first one, to which the
/// rest of its host beat: the leader of thousands of ranks hears some hundreds.
inline std::vector<int> heartbeat_targets(const std::vector<std::string>& hosts) {
  std::map<std::string, int> first_of_host;
  std::vector<int> targets;
  for (const std::string& host : hosts) {
    const int rank = static_cast<int>(targets.size());
    const auto [known, is_first] = first_of_host.try_emplace(host, rank);
    targets.push_back(is_first ? 0 : known->second);
  }
  return targets;
}

/// Others beat to `rank`, which is not the leader.
inline bool beats_for_others(const std::vector<int>& targets, int rank) {
  for (const int target : targets)
    if (target == rank && rank > 0) return true;
  return false;
}

}  // namespace tenax::resilience
