// Which ranks make a run slow that moves: those that wait least for others (ft-hsdp, section 2.3).
#pragma once

#include <string>
#include <vector>

namespace tenax::resilience {

/// How a rank has spent its last steps. Seconds are those of a step.
struct RankTimes {
  int replica = 0, rank = 0;
  std::string host;
  double step_s = 0;
  double inside_s =
      0;  ///< in collectives, in exchanges between replicas, and waiting for messages, with no pass under way
};

/// Those that are inside for less than the median of all, by more than a tenth of a step, the least first. Where all wait for a
/// link, or all are slow, none is. Why it is slow, this does not say. Pure.
std::vector<RankTimes> slow_ranks(std::vector<RankTimes> ranks);

}  // namespace tenax::resilience
