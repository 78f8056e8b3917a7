#include "resilience/effective_time/replica_rows.hpp"

#include <algorithm>
#include <utility>

namespace tenax::resilience {

void ReplicaRows::on_epoch(const EpochRecord& epoch) {
  const std::set<int> earlier = std::exchange(members_, {});
  for (const EpochRecord::Member& member : epoch.members) {
    const int replica = member.id.replica;
    members_.insert(replica);
    const bool is_late = epoch.reason != EpochReason::start && !earlier.contains(replica);
    const Open& known = replicas_[replica];
    if (earlier.contains(replica) && known.is_there &&
        known.row.stretches.back().phase != ReplicaPhase::starts)
      continue;
    begin(replica, is_late ? ReplicaPhase::fetches : ReplicaPhase::trains, epoch.time);
  }
}

void ReplicaRows::on_join(int replica, double time_s) {
  begin(replica, ReplicaPhase::trains, time_s);
  replicas_[replica].row.joins.push_back(time_s);
}

void ReplicaRows::on_lost(int replica, double time_s) {
  end(replica, time_s);
  members_.erase(replica);
  replicas_[replica].row.deaths.push_back(time_s);
}

void ReplicaRows::begin(int replica, ReplicaPhase phase, double time_s) {
  end(replica, time_s);
  Open& open = replicas_[replica];
  open.is_there = true;
  open.row.stretches.push_back({.begin_s = time_s, .end_s = time_s, .phase = phase});
}

void ReplicaRows::end(int replica, double time_s) {
  Open& open = replicas_[replica];
  if (std::exchange(open.is_there, false)) open.row.stretches.back().end_s = time_s;
}

std::vector<ReplicaRow> ReplicaRows::rows(double end_s) const {
  std::vector<ReplicaRow> rows;
  for (const auto& [replica, open] : replicas_) {
    rows.push_back(open.row);
    rows.back().replica = replica;
    if (open.is_there)
      rows.back().stretches.back().end_s = std::max(end_s, open.row.stretches.back().begin_s);
  }
  return rows;
}

}  // namespace tenax::resilience
