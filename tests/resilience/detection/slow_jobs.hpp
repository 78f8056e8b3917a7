// Jobs whose iteration times are like those that Greyhound was tried on (ATC 2025, tables 3 and 4),
// and what a detector should tell of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenax::resilience {

/// A change of level that is to be told.
struct TrueChange {
  std::int64_t iteration = 0;
  double ratio = 1;  ///< to the level before; of a ladder, of the rung that crosses 10 % to the healthy one
};

struct SlowJob {
  std::string name;
  std::vector<double> seconds;  ///< of iteration 0, 1, …
  std::vector<TrueChange> changes;
};

struct JobSet {
  std::string name;
  std::vector<SlowJob> jobs;
};

/// 392 jobs on single nodes of which 6 have a slow episode.
JobSet compute_jobs(std::uint32_t seed);
/// 107 jobs over several nodes of which 43 have a slow episode, one of them a ladder of 8 % rungs.
JobSet communication_jobs(std::uint32_t seed);

}  // namespace tenax::resilience
