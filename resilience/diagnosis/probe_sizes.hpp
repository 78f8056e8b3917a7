// Sizes of the messages that test links, so that the tests take no longer than they may. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tenax::resilience {

/// How often a link is tested in each direction and size. The least time counts.
inline constexpr int kProbeTimes = 3;
/// A message that takes as long as its way, whatever the bandwidth. One is sent at a time, in many
/// passes.
inline constexpr std::size_t kTinyProbeBytes = 4;

struct ProbeBudget {
  double seconds = 0;      ///< left for all sizes
  int rounds = 0;          ///< of disjoint pairs (probe_rounds.hpp)
  double exchange_s = 0;   ///< a tiny message and its answer, over the slowest link
  double bytes_per_s = 0;  ///< of the slowest link; 0: not known, then nothing is cut
};

/// What a test with messages of `bytes` takes: rounds · 2 directions · kProbeTimes messages.
double probe_seconds(double bytes, const ProbeBudget& budget);

/// The sizes `mb` (of 1e6 bytes) in bytes, ascending, cut by one factor so that all together fit
/// into the budget, but none below 1 KiB. None at all where they do not fit even so.
std::vector<std::size_t> probe_sizes(std::span<const double> mb, const ProbeBudget& budget);

}  // namespace tenax::resilience
