// To which rank each rank of a replica beats.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tenax::resilience {

/// `hosts`: of each rank. A tree, whose root is the leader, rank 0. A host's ranks beat to its first one, which beats for them.
/// Hosts come in groups of up to kHostsOfGroup, in the order of their first ranks: a group's first ranks beat to the first of
/// them, which beats to the leader; those of the leader's own group beat to the leader. So of 8192 ranks on 1024 hosts the leader
/// hears some 45 ranks.
inline std::vector<int> heartbeat_targets(const std::vector<std::string>& hosts) {
  constexpr std::size_t kHostsOfGroup = 32;
  std::map<std::string, int> first_of_host;
  std::vector<int> first_of_group, targets;
  for (const std::string& host : hosts) {
    const int rank = static_cast<int>(targets.size());
    const std::size_t group = first_of_host.size() / kHostsOfGroup;  // of a host that is new
    const auto [known, is_first] = first_of_host.try_emplace(host, rank);
    if (is_first && group == first_of_group.size()) first_of_group.push_back(rank);
    const bool begins_group = is_first && first_of_group.back() == rank;
    targets.push_back(begins_group ? 0 : is_first ? first_of_group.back() : known->second);
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
