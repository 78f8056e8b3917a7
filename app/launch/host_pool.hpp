// HostPool: which hosts a run's replicas and warm spares are on, and which can take the place of one on which
// replicas die.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/launch/host_list.hpp"

namespace tenax::app {

/// Pure: seconds come in. Empty, with no hosts, it leaves all replicas where they are.
class HostPool {
 public:
  HostPool() = default;
  /// As share_hosts() hands them out, each once.
  HostPool(const std::vector<HostSlots>& hosts, int replicas, int ranks);

  /// Where it is, or starts next; its first host runs its mpirun.
  const std::vector<HostSlots>& hosts_of(int replica) const {
    return places_.at(static_cast<std::size_t>(replica));
  }
  /// All its hosts are in it.
  const std::string& zone_of(int replica) const { return hosts_of(replica).front().zone; }
  /// It is not where it began.
  bool is_on_spare(int replica) const { return moved_.contains(replica); }
  bool is_empty() const { return places_.empty(); }
  /// Of the hosts of this place the one with most replicas has so many.
  int most_replicas(const std::vector<HostSlots>& place) const;

  struct HostOut {
    std::string host;
    int failures = 0;  ///< in the last hour
  };
  /// A replica died, on `host` if that is one of its own, else on its first. Where replicas died
  /// twice on that host in an hour, and others can take this one, the host is set aside: then returns
  /// it. The replica leaves a host that is set aside.
  /// `is_corrupt`: it computed wrongly there, and leaves the host where others can take it.
  std::optional<HostOut> on_death(int replica, const std::string& host, double now_s,
                                  bool is_corrupt = false);
  /// Finds a place for a warm spare among what is free, where least replicas have died in the last hour. Null
  /// where there is none.
  const std::vector<HostSlots>* place_spare(int spare);
  /// The spare has ended: its place is free.
  void remove_spare(int spare) { spares_.erase(spare); }
  /// Of `ready` spares, the one to call for this replica: one of its zone, if there is any.
  std::optional<int> choose_spare(int replica, const std::set<int>& ready) const;
  /// The spare is that replica from now on, whose own place is free.
  void hand_over(int replica, int spare);
  /// In the order in which they were.
  const std::vector<std::string>& set_aside() const { return set_aside_; }
  /// An earlier supervisor has started it there. Passed over where the deck has other hosts.
  void continue_on(int replica, const std::vector<HostSlots>& hosts);
  /// An earlier supervisor has set it aside. Replicas there start elsewhere, if others can take them.
  void continue_without(const std::string& host);

 private:
  bool is_usable(const std::string& host) const;
  std::size_t deaths_on(const std::string& host) const;
  std::vector<HostSlots> taken_on(const std::string& host) const;
  int free_slots(const HostSlots& host) const;
  int first_free(const std::string& host, int slots) const;
  bool move(int replica, const std::string& away_from);
  std::optional<std::vector<HostSlots>> find_place(const std::string& zone) const;

  int ranks_ = 1;
  std::vector<HostSlots> hosts_;                       // all, each once, in the deck's order
  std::vector<std::vector<HostSlots>> places_;         // by replica
  std::map<int, std::vector<HostSlots>> spares_;       // by warm spare
  std::map<std::string, std::vector<double>> deaths_;  // by host: when, in the last hour
  std::vector<std::string> set_aside_;
  std::set<int> moved_;
};

}  // namespace tenax::app
