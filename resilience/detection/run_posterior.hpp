// RunPosterior: since when the iteration time has had its level, as probabilities.
#pragma once

#include <cstdint>
#include <vector>

#include "resilience/detection/level_run.hpp"

namespace tenax::resilience {

/// The run-length posterior of Adams and MacKay, "Bayesian Online Changepoint Detection" (2007),
/// used by Greyhound (ATC 2025, section 4; formulas: appendix 9.1 of its preprint, Falcon). One
/// thread; bounded: at most 40 runs.
class RunPosterior {
 public:
  struct Options {
    double hazard = 250;        ///< iterations between changes that are expected
    double spike_share = 0.02;  ///< of the iterations; 0: each value belongs to a level
  };

  explicit RunPosterior(Options options) : options_(options) {}

  /// `x`: the natural logarithm of an iteration's seconds. Numbers increase.
  void add(std::int64_t number, double x);
  /// All that has been seen is of no use for what comes.
  void clear() { runs_.clear(); }

  /// The probability that the level began with the value of that number, or later.
  double since(std::int64_t number) const;
  /// The run that holds the most. At least one value has been added since clear().
  const LevelRun& in_force() const { return runs_[heaviest_].run; }

 private:
  struct Weighted {
    LevelRun run;
    double weight = 0;
  };

  void drop_light();

  Options options_;
  std::vector<Weighted> runs_;  // from the oldest to the newest; their weights add up to 1
  std::size_t heaviest_ = 0;
};

}  // namespace tenax::resilience
