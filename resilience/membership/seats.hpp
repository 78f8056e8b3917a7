// Seats: the replicas that have checked in with the membership service and are not lost.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "resilience/membership/member_messages.hpp"

namespace tenax::resilience {

/// A link to the service, as its driver numbers them.
using PeerId = std::int64_t;

/// A replica that has checked in.
struct Seat {
  PeerId peer = 0;
  ReplicaId id;
  std::string data, loops;
  std::string host;
  std::vector<std::string> addresses, state_addresses;
  std::int64_t done = -1, next_sample = 0;  ///< the state it held when it came, or has restored
  std::int64_t epoch = 0;                   ///< the newest it has been told
  std::int64_t step = 0;                    ///< the newest it is known to be at
  bool needs_change = false;                ///< it cannot go on in its epoch
  bool is_restoring = false;
  bool is_behind = false;  ///< it fetches the state, and has completed no step of the run yet
  bool leaves = false;
  double heard_s = 0;  ///< when it was heard of last
};

class Seats {
 public:
  struct Options {
    int replicas = 1;
    std::string build, deck;  ///< what a replica must have to take part
  };

  explicit Seats(Options options) : options_(std::move(options)) {}

  /// Why the replica cannot take part, whoever else is there; empty if it can.
  std::string fault(const CheckIn& check_in) const;
  /// A newcomer and one that is there cannot train together.
  struct Clash {
    ReplicaId other;
    std::string fault;         ///< why the newcomer cannot train with the other
    std::string others_fault;  ///< why the other cannot train with the newcomer
    bool is_of_hosts = false;  ///< with a host like the run's it could
  };
  /// With the other replicas that are there, which can train together.
  std::vector<Clash> clashes(const CheckIn& check_in) const;
  Seat& add(PeerId peer, const CheckIn& check_in, double now);
  /// Empties the seat. This incarnation and those before never come back.
  void lose(ReplicaId id);
  bool is_lost(ReplicaId id) const;

  /// Null where there is none.
  Seat* of_peer(PeerId peer);
  Seat* of(ReplicaId id);
  const Seat* of(ReplicaId id) const;
  /// By replica.
  std::map<int, Seat>& all() { return seats_; }
  const std::map<int, Seat>& all() const { return seats_; }
  /// Not heard of for more than `dead_s`.
  std::vector<ReplicaId> silent(double now, double dead_s) const;

  /// Lets `see` see all that decides what comes next, but for times.
  template <class See>
  void show(See& see) const {
    see(seats_, newest_lost_);
  }

 private:
  Options options_;
  std::map<int, Seat> seats_;       // by replica
  std::map<int, int> newest_lost_;  // incarnation, by replica
};

}  // namespace tenax::resilience
