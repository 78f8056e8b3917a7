// SpareLinks: the warm spares that have started and wait for a replica's place.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "resilience/membership/seats.hpp"

namespace tenax::resilience {

/// Pure. `now`: as MembershipService has it.
class SpareLinks {
 public:
  /// A link's spare is ready; it takes the place of an earlier start of the same number.
  void add(PeerId peer, int spare, double now);
  /// A message has come. False: the link is no spare's.
  bool hear(PeerId peer, double now);
  /// Forgets the link: it has closed, or its spare was called. Returns the spare; nothing where it is none's.
  std::optional<int> remove(PeerId peer);
  std::optional<PeerId> peer_of(int spare) const;
  /// Not heard of for more than `dead_s`.
  std::vector<PeerId> silent(double now, double dead_s) const;
  /// Nobody could be heard for so long.
  void shift(double pause_s);

 private:
  struct Link {
    int spare = 0;
    double heard_s = 0;
  };
  std::map<PeerId, Link> links_;
};

}  // namespace tenax::resilience
