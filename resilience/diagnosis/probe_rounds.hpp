// Rounds of link tests: in which order the links of a group are tested, many at once. Pure.
#pragma once

#include <span>
#include <vector>

#include "comm/communicator.hpp"

namespace tenax::resilience {

/// Two ranks of a group, a < b.
struct RankPair {
  int a = 0, b = 0;
  bool has(int rank) const { return rank == a || rank == b; }
  bool operator==(const RankPair&) const = default;
};

/// Pairs that test their links at once: no rank is in two of them.
using ProbeRound = std::vector<RankPair>;

/// Each link of a group of `ranks` in exactly one round (Greyhound, section 4.3). A ring: two rounds
/// for an even number of ranks, three for an odd one, one for two ranks. All pairs, by the circle
/// method of round-robin tournaments: ranks − 1 rounds for an even number, `ranks` for an odd one,
/// in each of which one rank rests. No links: none.
std::vector<ProbeRound> probe_rounds(comm::LinkTopology topology, int ranks);

/// Those of a group's links: of its ring as it is joined now, then the links of its first order that
/// this one avoids, as nothing else would show that they have healed.
std::vector<ProbeRound> probe_rounds(const comm::Communicator& group);

/// The same with the pairs alone that one of `ends` is in.
std::vector<ProbeRound> rounds_with(const std::vector<ProbeRound>& rounds, std::span<const int> ends);

}  // namespace tenax::resilience
