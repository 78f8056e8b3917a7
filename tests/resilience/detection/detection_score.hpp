// DetectionScore: what a detector told of jobs, beside the truth.
#pragma once

#include <vector>

#include "resilience/detection/change.hpp"
#include "tests/resilience/detection/slow_jobs.hpp"

namespace tenax::resilience {

using DetectorFactory = std::unique_ptr<ChangeDetector> (*)(const DetectionOptions&);

/// What is told of iterations that took `seconds`.
std::vector<Change> changes_told(DetectorFactory make, const std::vector<double>& seconds,
                                 const DetectionOptions& options = {});

struct DetectionScore {
  int jobs = 0, jobs_right = 0;  ///< right: all that is told is true, and all that is true is told
  int changes = 0, missed = 0, untrue = 0;
  int misplaced = 0;              ///< by more than 2 iterations
  int misjudged = 0;              ///< ratio wrong by more than 6 %
  int late = 0;                   ///< told more than 8 iterations after the change
  int clear = 0, late_clear = 0;  ///< of 20 % and more; of these, told more than 3 iterations after

  void add(const SlowJob& job, const std::vector<Change>& told);
  void add(const DetectionScore& other);

 private:
  void add(const TrueChange& truth, const Change& told);
};

DetectionScore score(DetectorFactory make, const JobSet& set);

}  // namespace tenax::resilience
