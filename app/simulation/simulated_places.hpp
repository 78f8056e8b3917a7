// SimulatedPlaces: the hosts of a simulated run, by places that each hold a replica: which replica is where, and where and
// when a lost one starts again.
#pragma once

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/launch/host_pool.hpp"
#include "app/launch/restart_policy.hpp"
#include "app/simulation/random_times.hpp"
#include "app/simulation/simulated_event.hpp"

namespace tenax::app {

/// Used by one thread. Who goes where is decided by HostPool, to which a place is a host with one slot. A place on which a host
/// fails is repaired as a whole. A failure that comes meanwhile takes effect after it: each costs a repair, as FT-HSDP
/// calculates (section 6.1). Each spare place holds a replica that is started and idle: it takes a lost one's part at once
/// (`replicas.warm_spares`).
class SimulatedPlaces {
 public:
  struct Options {
    int replicas = 1, spares = 0;
    std::vector<std::string> zones =
        {};  ///< each that of an equal part of the places; empty: all are near each other
    RestartPolicy::Options restart;
    double repair_s = 0;                   ///< mean; 0: none takes any time
    bool is_regular = false;               ///< each repair takes that long; else it is random
    double restart_s = 0, takeover_s = 0;  ///< SimulatedCosts
  };
  /// Both outlive it. Replica k is in place k.
  SimulatedPlaces(const Options& options, RandomTimes& random, SimulatedQueue& queue);

  int count() const { return static_cast<int>(states_.size()); }
  /// Where it is, or starts next.
  int place_of(int replica) const { return number_of(hosts_.hosts_of(replica)); }
  const std::string& zone_of(int replica) const { return hosts_.zone_of(replica); }

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
    bool is_broken = false;
    int waiting_failures = 0;
    double ready_s = 0;  ///< a spare that is there has started by then
  };
  static int number_of(const std::vector<HostSlots>& place) { return std::stoi(place.front().host); }
  State& at(int place) { return states_[static_cast<std::size_t>(place)]; }
  void repair(int place, double now_s);
  void put_spare(int spare);
  std::set<int> ready_spares() const;
  bool call_spare(int replica, double now_s);
  void start(int replica, double ready_s);

  Options options_;
  RandomTimes& random_;
  SimulatedQueue& queue_;
  HostPool hosts_;
  std::vector<State> states_;  // by place
  std::vector<int> place_of_spare_;
  std::vector<RestartPolicy> policies_;  // by replica
  std::vector<double> not_before_s_;     // by replica: as its policy says
  std::vector<std::int64_t> starts_;     // by replica: so many were planned
  std::set<int> given_up_;               // replicas
  std::deque<int> waiting_;              // replicas whose places are broken
};

}  // namespace tenax::app
