// Who is to blame that a run stands still: the leaves of the wait-for graph (ft-hsdp, section 2.3).
#pragma once

#include <string>
#include <vector>

#include "resilience/blame/hang_dump.hpp"

namespace tenax::resilience {

struct Culprit {
  int rank = 0;           ///< index of HangDump::ranks
  std::string operation;  ///< what it does not come to, or what does not advance there
  int waiting_ranks = 0;  ///< that wait for it, or for one that does
  bool is_guess = false;  ///< all wait for something that may come yet
};

struct Blame {
  static constexpr std::size_t kMost = 3;
  std::vector<Culprit> culprits;  ///< most likely first, at most kMost; empty where nobody waits for anybody
  std::string operation;          ///< what the others wait for
  double seconds = 0;             ///< that the first of them has stood
};

/// Pure. Linear in ranks, seats and open operations.
Blame find_culprits(const HangDump& dump);

}  // namespace tenax::resilience
