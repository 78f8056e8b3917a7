// SquaresCheck: compares the Σg² that the replicas of an epoch committed. They must be equal bit
// for bit; one that differs has another state than the rest.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace tenax::resilience {

class SquaresCheck {
 public:
  /// `ring`: the epoch's replicas in ring order. `voters`: those that hold the state from its
  /// beginning; others vote from their first commit on.
  void begin(std::vector<int> ring, std::set<int> voters);

  /// The replicas that differ, once all voters have committed `step`; empty as long as they have
  /// not, or agree. Most replicas decide; among equally many those with the earliest in the ring.
  std::vector<int> add(std::int64_t step, int replica, std::uint64_t squares);

  /// Lets `see` see all that decides what comes next, but for times.
  template <class See>
  void show(See& see) const {
    see(ring_, voters_, open_);
  }

 private:
  using Squares = std::map<int, std::uint64_t>;  // by replica

  std::vector<int> minority(const Squares& squares) const;

  std::vector<int> ring_;
  std::set<int> voters_;
  std::map<std::int64_t, Squares> open_;  // by step
};

}  // namespace tenax::resilience
