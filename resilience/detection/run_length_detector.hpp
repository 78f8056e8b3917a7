// RunLengthDetector: tells changes of the iteration time from noise and spikes.
#pragma once

#include <cstdint>
#include <optional>

#include "resilience/detection/change.hpp"
#include "resilience/detection/healthy_level.hpp"
#include "resilience/detection/level_split.hpp"
#include "resilience/detection/recent_iterations.hpp"
#include "resilience/detection/run_posterior.hpp"

namespace tenax::resilience {

/// BOCD with verification (Greyhound, ATC 2025, section 4), on a posterior that knows spikes. A
/// sudden change is told where the posterior holds 0.9 for a new run and the levels before and
/// after the best place differ enough; a drift, where the last iterations differ from the healthy
/// level. Memory and the time of an iteration are bounded.
class RunLengthDetector final : public ChangeDetector {
 public:
  explicit RunLengthDetector(const DetectionOptions& options);

  std::optional<Change> add(std::int64_t iteration, double seconds) override;
  void begin_level(ExpectedLevel expected) override;
  bool is_healthy() const override { return health_.is_at_best(); }

 private:
  std::optional<Change> sudden_change();
  std::optional<Change> end_of_burst();
  std::optional<Change> drift();
  std::optional<Change> slow_after_own_action();
  Change tell(std::int64_t place, double before, double after, double probability);

  double threshold_;
  RunPosterior posterior_;  // its numbers are those of recent_
  RecentIterations recent_;
  LevelSplitter splitter_;
  HealthyLevel health_;
  std::int64_t level_begin_ = 0;   // the number of the first value of the level
  std::optional<double> told_;     // the level, where a change at its begin has told it
  bool after_own_action_ = false;  // and its level is not known yet
};

}  // namespace tenax::resilience
