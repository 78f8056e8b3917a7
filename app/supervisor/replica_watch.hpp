// ReplicaWatch: compares a run's replicas, and the links between them, by what they tell of each
// step, and records which has become slow.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "app/console.hpp"
#include "app/supervisor/supervisor_events.hpp"
#include "app/supervisor/told_components.hpp"
#include "io/deck/deck.hpp"
#include "resilience/diagnosis/slow_peers.hpp"
#include "resilience/membership/service_output.hpp"

namespace tenax::app {

/// A replica finds what becomes slow within it by itself. This finds those that always were slower
/// than the others, or whose own history does not tell. Where replicas share cores it tells of less than
/// kCrowdedChange nothing, and the console hears nothing. One thread.
class ReplicaWatch {
 public:
  /// All outlive it.
  ReplicaWatch(const io::DetectSection& section, SupervisorEvents& events, Console& console)
      : section_(section),
        events_(events),
        console_(console),
        replicas_(section.suspect),
        links_(section.suspect) {}

  void take(const resilience::CommitRecord& commit);
  void take(const resilience::EpochRecord& epoch);
  /// What a replica says of itself, the supervisor does not say again.
  void take(const resilience::ReplicaObserved& observed) { own_.take(observed); }

 private:
  using Change = resilience::SlowPeers::Change;
  std::vector<resilience::SlowPeers::Figure> replica_figures(const resilience::CommitRecord& commit) const;
  std::vector<resilience::SlowPeers::Figure> link_figures(const resilience::CommitRecord& commit) const;
  /// It is known to be slow.
  bool is_told(int replica) const { return own_.contains(replica) || told_.contains({replica, replica}); }
  void tell(const Change& change, const resilience::CommitRecord& commit);
  io::JsonObject component(const Change& change) const;
  std::string host(int replica) const;

  const io::DetectSection& section_;
  SupervisorEvents& events_;
  Console& console_;
  resilience::SlowPeers replicas_, links_;
  std::map<int, resilience::EpochRecord::Member> members_;  // by replica
  ToldComponents own_;
  std::set<resilience::SlowPeers::Part> told_;   // here
  std::map<std::int64_t, double> time_of_step_;  // of the last ones, UNIX
};

}  // namespace tenax::app
