// SimulatedPlaces: the hosts of a simulated run, by places that each hold a replica: which replica is where, and where and
// when a lost one starts again.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "app/launch/restart_policy.hpp"
#include "app/simulation/random_times.hpp"
#include "app/simulation/simulated_event.hpp"

namespace tenax::app {

/// Used by one thread. A place on which a host fails is repaired as a whole. A failure that comes meanwhile takes effect
/// after it: each costs a repair, as FT-HSDP calculates (section 6.1). A spare place holds a replica that is started and
/// idle: it takes a lost one's part at once (`replicas.warm_spares`).
class SimulatedPlaces {
 public:
  struct Options {
    int replicas = 1, spares = 0;
    RestartPolicy::Options restart;
    double repair_s = 0;                   ///< mean; 0: none takes any time
    bool is_regular = false;               ///< each repair takes that long; else it is random
    double restart_s = 0, takeover_s = 0;  ///< SimulatedCosts
  };
  /// Both outlive it. Replica k is in place k.
  SimulatedPlaces(const Options& options, RandomTimes& random, SimulatedQueue& queue);

  int count() const { return static_cast<int>(states_.size()); }
  int place_of(int replica) const { return place_of_replica_[static_cast<std::size_t>(replica)]; }

  /// A host of the place fails. Returns the replica that this ends; nothing where there is none.
  std::optional<int> on_failure(int place, double now_s);
  /// A place's repair has ended.
  void on_repaired(int place, double now_s);
  /// The replica is out of the run: plans its next start. False: it is given up.
  bool on_lost(int replica, double now_s);
  /// A start that was planned is due. False: its place has failed since.
  bool is_next_start(int replica, std::int64_t token) const {
    return starts_[static_cast<std::size_t>(replica)] == token;
  }
  void on_commit(int replica) { policies_[static_cast<std::size_t>(replica)].on_commit(); }

 private:
  struct State {
    int replica = -1;  ///< there; −1: none
    bool is_broken = false;
    int waiting_failures = 0;
  };
  State& at(int place) { return states_[static_cast<std::size_t>(place)]; }
  void repair(int place, double now_s);
  void seek_place(int replica, double now_s);
  void put(int replica, int place, double ready_s);
  int free_place() const;

  Options options_;
  RandomTimes& random_;
  SimulatedQueue& queue_;
  std::vector<State> states_;            // by place
  std::vector<int> place_of_replica_;    // −1: none
  std::vector<RestartPolicy> policies_;  // by replica
  std::vector<double> not_before_s_;     // by replica: as its policy says
  std::vector<std::int64_t> starts_;     // by replica: so many were planned
  std::deque<int> waiting_;              // replicas without a place
};

}  // namespace tenax::app
